// Pings a server's open connections (pool members), and reports connections that do not respond. A connection
// with a message since the last round needs no ping. Any response to a ping counts, even an error. Pings
// do not count as use of the server. A connection has one ping in flight, so missed pings are consecutive.
//
// - A connection with a call in flight is not pinged: a tool may block the only thread of its server, also
//   while it waits for the answer to a question. The time limits of the call apply instead.
// - Some servers never answer pings. A connection is reported only if it does not answer another request
//   either.

import type { PoolMember } from '../pool/pool-member.ts';

export interface HealthOptions {
  readonly server: string;
  /** 0 disables health checks. */
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Consecutive missed pings after which a connection is reported. */
  readonly failures: number;
  readonly members: () => Iterable<PoolMember>;
  readonly onSilent: (member: PoolMember, missedPings: number) => void;
}

export class Health {
  readonly #options: HealthOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.intervalMs === 0) return;
    this.#timer ??= setInterval(() => this.#round(), this.#options.intervalMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #round(): void {
    const activeSince = performance.now() - this.#options.intervalMs;
    for (const member of this.#options.members()) {
      if (!member.isOpen || member.isPinged || member.connection.endError !== undefined) continue;
      if (member.connection.lastMessageAt > activeSince || member.inFlight > 0) member.missedPings = 0;
      else void this.#ping(member);
    }
  }

  async #ping(member: PoolMember): Promise<void> {
    const { timeoutMs, failures, onSilent } = this.#options;
    const { connection } = member;
    const isIrrelevant = () => connection.isEnded || member.isClosing || member.inFlight > 0;
    member.isPinged = true;
    try {
      const hasPong = await isAnswered(connection.ping(timeoutMs));
      if (isIrrelevant()) return;
      member.missedPings = hasPong ? 0 : member.missedPings + 1;
      if (member.missedPings < failures) return;
      if (await isAnswered(connection.request('tools/list', undefined, timeoutMs))) member.missedPings = 0;
      else if (!isIrrelevant()) onSilent(member, member.missedPings);
    } finally {
      member.isPinged = false;
    }
  }
}

/** Returns true for any response, also an error response. */
function isAnswered(request: Promise<unknown>): Promise<boolean> {
  return request.then(
    () => true,
    () => false,
  );
}
