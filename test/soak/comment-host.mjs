// Simulated repository host: lists and creates comments, and fails on request. An answer contains the id of
// the event, so a duplicate comment is detected.

import { LoopbackServer } from './loopback-server.mjs';
import { TOKEN } from './world.mjs';

const PAGE = 100;

export class CommentHost extends LoopbackServer {
  isHealed = false;
  /** Number of comments by event id. */
  written = new Map();
  /**
   * Failure mode of write requests: 'refuse', 'cut' (the comment is written, but the connection breaks),
   * 'none'.
   */
  failure = 'none';
  #journal;
  #comments = new Map();
  #paceUntil = 0;

  constructor({ journal }) {
    super((request, response) => this.#onRequest(request, response));
    this.#journal = journal;
  }

  /** Responds to write requests with 403 and Retry-After for some seconds, like a secondary rate limit. */
  slowDown(seconds) {
    this.#paceUntil = performance.now() + seconds * 1000;
  }

  async #onRequest(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { pathname, searchParams } = new URL(request.url, this.url);
    const answer = (status, body, headers = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(body));
    const { authorization = '' } = request.headers;
    if (!authorization.endsWith(TOKEN)) return answer(401, { message: 'Bad credentials' });
    if (request.method === 'GET' && pathname === '/user')
      return answer(200, { login: 'the-bot', id: 1, type: 'Bot' });
    const place = /^\/repos\/([^/]+\/[^/]+\/issues\/\d+)\/comments$/.exec(pathname)?.[1];
    if (place === undefined) return answer(200, []);
    const all = this.#comments.get(place) ?? [];
    this.#comments.set(place, all);
    if (request.method === 'GET') {
      const since = searchParams.get('since') ?? '';
      const found = all.filter(({ created_at }) => created_at >= since);
      const page = Number(searchParams.get('page') ?? 1);
      const next = new URL(request.url, this.url);
      next.searchParams.set('page', String(page + 1));
      const hasMore = found.length > page * PAGE;
      return answer(
        200,
        found.slice((page - 1) * PAGE, page * PAGE),
        hasMore ? { link: `<${next}>; rel="next"` } : {},
      );
    }
    return this.#write(place, all, JSON.parse(Buffer.concat(chunks).toString()), response, answer);
  }

  #write(place, all, { body }, response, answer) {
    const left = this.#paceUntil - performance.now();
    if (left > 0 && !this.isHealed) {
      this.#journal.count('comments rate limited');
      return answer(
        403,
        { message: 'You have exceeded a secondary rate limit.' },
        { 'retry-after': String(Math.ceil(left / 1000)) },
      );
    }
    if (this.failure === 'refuse' && !this.isHealed) return answer(502, { message: 'Bad Gateway' });
    const about = /heard (\S+)/.exec(body)?.[1] ?? 'nothing';
    const times = (this.written.get(about) ?? 0) + 1;
    this.written.set(about, times);
    this.#journal.count('comments');
    if (times > 1) this.#journal.violate('a comment is written once', `${about} at ${place}`);
    const comment = {
      id: all.length + 1,
      body,
      user: { login: 'the-bot' },
      // The real time; only the gateway's clock is changed.
      created_at: new Date().toISOString(),
    };
    all.push(comment);
    if (this.failure === 'cut' && !this.isHealed) return response.destroy();
    return answer(201, comment);
  }
}
