// The search of the site runs in a worker, and a browser starts none for a page that was opened as a file. There a hidden
// frame takes its place: it runs the worker's script, and messages go both ways as events.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.inner = new Promise((resolve) => {
        const frame = document.createElement("iframe");
        frame.hidden = true;
        const begin = () => {
          document.body.append(frame);
          const inner = frame.contentWindow;
          inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          const script = frame.contentDocument.createElement("script");
          script.src = url;
          script.onload = () => resolve(inner);
          frame.contentDocument.body.append(script);
        };
        if (document.body) begin();
        else addEventListener("DOMContentLoaded", begin);
      });
    }

    postMessage(data) {
      this.inner.then((inner) => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }

    terminate() {}
  };
}
