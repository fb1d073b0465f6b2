// Base class of HTTP servers that the gateway calls, on a free loopback port.

import { createServer } from 'node:http';

export class LoopbackServer {
  url = '';
  #server;

  /** `answer` handles a request. If it rejects, the connection is closed. */
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
