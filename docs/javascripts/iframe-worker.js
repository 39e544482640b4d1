// Search without a server: from file:// browsers refuse workers, so a worker's script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      this.inner = this.frame.contentWindow;
      this.inner.IFrameWorker = true; // the search looks for this name
      this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inner.importScripts = async (...addresses) => {
        for (const one of addresses) await this.load(one);
      };
      this.ready = this.load(new URL(address, document.baseURI).href);
    }

    load(address) {
      return new Promise((done, failed) => {
        const script = this.inner.document.createElement("script");
        script.onload = done;
        script.onerror = () => failed(new Error(`Cannot load ${address}`));
        script.src = address;
        this.inner.document.body.appendChild(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
