// Search in pages that were opened as files: browsers refuse workers there, so the script runs in a frame.
if (location.protocol === "file:") {
  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.queue = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source !== inside) return;
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      });
      inside.document.open();
      inside.document.write(
        "<script>" +
          "window.postMessage = data => parent.dispatchEvent(new MessageEvent('message', {data, source: window}));" +
          "window.importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {" +
          "  const script = document.createElement('script');" +
          "  Object.assign(script, {src: url, onload: done, onerror: failed});" +
          "  document.body.append(script);" +
          "})), Promise.resolve());" +
          "<\/script><script src='" + new URL(url, location.href) + "'><\/script>",
      );
      inside.document.close();
      inside.addEventListener("load", () => {
        for (const data of this.queue.splice(0)) this.deliver(data);
        this.queue = null;
      });
    }

    postMessage(data) {
      if (this.queue) this.queue.push(data);
      else this.deliver(data);
    }

    deliver(data) {
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  }
  window.Worker = FrameWorker;
}
