// A program that the gateway talks to over HTTP: on this machine, at a port of its own, and gone at once when it is stopped.

import { createServer } from 'node:http';

export class LoopbackServer {
  url = '';
  #server;

  /** `answer` gives a promise; where that is rejected the connection is cut. */
  constructor(answer) {
    this.#server = createServer((request, response) => {
      answer(request, response).catch(() => response.destroy());
    });
  }

  async start() {
    await new Promise((done) => this.#server.listen(0, '127.0.0.1', done));
    this.url = `http://127.0.0.1:${this.#server.address().port}`;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
