// MCP clients of the soak: with and without sessions; some disconnect during a call, some listen without
// reading.
//
// Detects these violations: a response to another call, and a missing response of a healthy server without a
// disturbance of the gateway.

import { connect } from 'node:net';
import { GatewayUser } from './gateway-user.mjs';

/**
 * Allowed statuses of responses to valid requests: the session may be closed; the server may be unknown, busy
 * or stopped.
 */
const ALLOWED_STATUSES = new Set([200, 202, 404, 429, 502, 503, 504]);

export class Callers extends GatewayUser {
  #count = 0;

  /** Runs all clients until `signal` is aborted. */
  run() {
    const bad = ['crashing', 'hanging', 'flooding', 'deep', 'changing', 'extra'];
    return Promise.all([
      ...Array.from({ length: 4 }, (_, at) => this.#session(`session-${at}`)),
      ...Array.from({ length: 2 }, (_, at) => this.#callAlone(`alone-${at}`, 'steady')),
      ...bad.map((server) => this.#callAlone(`to-${server}`, server)),
      this.#leave(),
      this.#listenAndNeverRead(),
      this.#health(),
    ]);
  }

  /** Runs a client with a session for all servers. If the session is lost, it opens a new session. */
  async #session(name) {
    const chance = this.chanceOf(name);
    while (!this.isOver) {
      const session = await this.#open();
      for (let remaining = chance.between(5, 200); session !== undefined && remaining > 0; remaining -= 1) {
        if (this.isOver) return;
        const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' };
        if (chance.is(0.1)) await this.#request('/mcp', this.#message('tools/list'), headers);
        else if (!(await this.#call('/mcp', 'steady__echo', headers, 'steady'))) break;
        await this.pause(chance.between(20, 300));
      }
      if (session !== undefined && chance.is(0.5)) await this.#end(session);
      await this.pause(300);
    }
  }

  async #callAlone(name, server) {
    const chance = this.chanceOf(name);
    while (!this.isOver) {
      await this.#call('/rpc', 'echo', { 'x-mcp-server': server }, server);
      await this.pause(server === 'steady' ? chance.between(20, 200) : chance.between(200, 4_000));
    }
  }

  /** Calls a server and disconnects before the response. */
  async #leave() {
    const chance = this.chanceOf('leaver');
    while (!this.isOver) {
      const server = chance.one(['steady', 'hanging', 'flooding']);
      const body = JSON.stringify(this.#message('tools/call', { name: 'echo', arguments: {} }));
      const signal = AbortSignal.timeout(chance.between(1, 300));
      const headers = { 'content-type': 'application/json', 'x-mcp-server': server };
      await fetch(`${this.url}/rpc`, { method: 'POST', body, headers, signal }).catch(() => {});
      await this.pause(chance.between(100, 1_500));
    }
  }

  /** Opens the session's stream, requests all log messages, and does not read. */
  async #listenAndNeverRead() {
    const chance = this.chanceOf('deaf');
    while (!this.isOver) {
      const session = await this.#open();
      if (session !== undefined) {
        const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' };
        const level = this.#message('logging/setLevel', { level: 'debug' });
        await this.#request('/mcp', level, headers);
        const { port } = new URL(this.url);
        const socket = connect(Number(port), '127.0.0.1');
        socket.on('error', () => {});
        socket.pause();
        socket.write(
          `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\nMcp-Session-Id: ${session}\r\n\r\n`,
        );
        await this.pause(chance.between(5_000, 20_000));
        socket.destroy();
      }
      await this.pause(1_000);
    }
  }

  async #health() {
    while (!this.isOver) {
      const from = performance.now();
      const answer = await this.ask('/health');
      const ms = Math.round(performance.now() - from);
      if (answer !== undefined && this.journal.wasCalm(from)) {
        this.journal.most('longest answer to /health when calm, ms', ms);
        if (ms > 5_000) this.journal.violate('the gateway never stalls', `${ms} ms for /health`);
      }
      await this.pause(1_000);
    }
  }

  #message(method, params = {}) {
    return { jsonrpc: '2.0', id: ++this.#count, method, params };
  }

  async #open() {
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'soak', version: '1.0.0' },
    };
    const from = performance.now();
    const answer = await this.#request('/mcp', this.#message('initialize', params));
    const session = answer?.headers.get('mcp-session-id') ?? undefined;
    if (session === undefined && this.journal.wasCalm(from))
      this.journal.violate('a session can be opened', `${answer?.status} ${answer?.text}`);
    if (session === undefined) return undefined;
    await this.#request(
      '/mcp',
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { 'mcp-session-id': session },
    );
    return session;
  }

  async #end(session) {
    await this.ask('/mcp', { method: 'DELETE', headers: { 'mcp-session-id': session } });
  }

  /** Calls the echo tool and checks the response. Returns false if the session is lost. */
  async #call(path, tool, headers, server) {
    const text = `said-${++this.#count}`;
    const message = this.#message('tools/call', { name: tool, arguments: { text } });
    const from = performance.now();
    const answer = await this.#request(path, message, headers);
    this.journal.count('calls');
    if (answer === undefined) return true;
    const result = answer.values.find(({ id }) => id === message.id)?.result;
    const echo = result?.content?.[0]?.text;
    if (echo !== undefined && echo !== JSON.stringify({ text }) && result.isError !== true)
      this.journal.violate('an answer belongs to its call', `${text} returned ${echo.slice(0, 200)}`);
    if (echo !== undefined) this.journal.count('calls answered');
    else if (server === 'steady' && answer.status !== 404 && this.journal.wasCalm(from))
      this.journal.violate(
        'a healthy server answers, independent of others',
        `${answer.status} ${answer.text.slice(0, 300)}`,
      );
    return answer.status !== 404;
  }

  async #request(path, message, headers = {}) {
    const answer = await this.ask(path, {
      method: 'POST',
      body: JSON.stringify(message),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
    });
    if (answer !== undefined && !ALLOWED_STATUSES.has(answer.status))
      this.journal.violate('a valid request is answered', `${answer.status} ${answer.text.slice(0, 300)}`);
    return answer;
  }
}
