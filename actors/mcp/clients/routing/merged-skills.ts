// Answers `skills/list` at merged addresses (/mcp, profiles): the skills (folders with instructions for
// models) of all servers that declare the extension, in the order of the catalog. Skills are not cached, so
// each request reaches these servers, and stopped servers start. The list has a deadline, and the limits
// MAX_SKILLS and MAX_CHARS; `_meta` names the servers with missing skills. Up to MAX_PAGES pages of a server
// are fetched.

import { forEachLimited } from '../../../base/bounds/for-each-limited.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import { requestMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { elementsOf, memberOf } from '../../jsonrpc/members.ts';
import { toModern } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import { rawOf, toBuffer } from '../../jsonrpc/span.ts';
import type { Call } from '../../servers/calls/call.ts';
import { extensionsOf } from '../../servers/lists/listing-capabilities.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';
import { type ClientRequest, clientEra } from '../routed-request.ts';
import { addressEdits } from './result-addresses.ts';

const CONCURRENCY = 8;
const MAX_SKILLS = 1_000;
const MAX_CHARS = 4 * 1024 * 1024;
const MAX_PAGES = 100;

interface MergedSkills {
  /** Skills as raw JSON. */
  readonly skills: readonly string[];
  /** Servers with missing or incomplete skills. */
  readonly incomplete: readonly string[];
}

/** Returns the skills of the servers. `rename` returns the address for the client. Never rejects. */
export async function listSkills(
  request: ClientRequest,
  servers: readonly ManagedServer[],
  timeoutMs: number,
  rename: (server: ManagedServer, uri: string) => string,
): Promise<MergedSkills> {
  const fetches = servers.map((server) => new SkillFetch(request, server));
  const timer = setTimeout(() => {
    for (const fetch of fetches) fetch.cancel();
  }, timeoutMs);
  await forEachLimited(CONCURRENCY, fetches, (fetch) => fetch.run());
  clearTimeout(timer);
  const skills: string[] = [];
  let chars = 0;
  const incomplete = new Set<string>();
  for (const { server, pages, isComplete } of fetches) {
    if (!isComplete) incomplete.add(server.id);
    for (const page of pages) {
      for (const skill of skillsIn(page, (uri) => rename(server, uri))) {
        chars += skill.length;
        if (skills.length < MAX_SKILLS && chars <= MAX_CHARS) skills.push(skill);
        else incomplete.add(server.id);
      }
    }
  }
  return { skills, incomplete: [...incomplete] };
}

function skillsIn(page: Envelope, rename: (uri: string) => string): readonly string[] {
  const edits = addressEdits(page, rename);
  const { bytes, result } =
    edits.length === 0 ? page : readServerMessage(toBuffer(applyEdits(page.bytes, edits)));
  return elementsOf(bytes, memberOf(bytes, result, 'skills')).map(({ value }) => rawOf(bytes, value));
}

/** Fetches one server's skills. */
class SkillFetch {
  readonly server: ManagedServer;
  readonly pages: Envelope[] = [];
  isComplete = false;
  readonly #request: ClientRequest;
  #call: Call | undefined;
  #isCancelled = false;
  readonly #whenCancelled: Promise<void>;
  #resolveCancelled: () => void = () => {};

  constructor(request: ClientRequest, server: ManagedServer) {
    this.#request = request;
    this.server = server;
    this.#whenCancelled = new Promise((resolve) => {
      this.#resolveCancelled = resolve;
    });
  }

  /** Fetches the pages. Never rejects; `isComplete` is false if the fetch failed. */
  async run(): Promise<void> {
    if (this.#isCancelled) return;
    await Promise.race([this.server.eras.ensureKnown(), this.#whenCancelled]);
    let cursor: string | undefined;
    let bytes = 0;
    do {
      if (this.#isCancelled || this.#request.exchange.isDone) return;
      const page = await this.#ask(cursor).catch(() => undefined);
      if (page === undefined || page.error !== undefined) return;
      this.pages.push(page);
      bytes += page.bytes.length;
      const next = page.parse(memberOf(page.bytes, page.result, 'nextCursor'));
      cursor = typeof next === 'string' ? next : undefined;
    } while (cursor !== undefined && this.pages.length < MAX_PAGES && bytes <= MAX_CHARS);
    this.isComplete = cursor === undefined;
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#resolveCancelled();
    this.#call?.cancel('the deadline of the list has passed');
  }

  #ask(cursor: string | undefined): Promise<Envelope> {
    const { session, caller, trace, exchange: clientExchange } = this.#request;
    // The era of the server for this client: legacy (sessions) or modern (stateless). Legacy if unknown.
    const era = this.server.eras.serverEraFor(clientEra(this.#request)) ?? 'legacy';
    // The connection replaces the id 0.
    const plain = readServerMessage(
      requestMessage('0', 'skills/list', cursor === undefined ? {} : { cursor }),
    );
    const client = session ?? caller;
    // Skills are an extension, so the server needs no other capabilities of the client.
    const capabilities = { extensions: extensionsOf(client?.capabilities ?? {}) };
    const envelope =
      era === 'legacy' ? plain : toModern(plain, { clientInfo: client?.clientInfo, capabilities });
    return new Promise((resolve, reject) => {
      const drop = () => reject(new Error('the request was dropped'));
      const exchange = { answer: resolve, fail: reject, relay: () => {}, drop };
      const origin = { owner: session, client: clientExchange.client, trace };
      this.#call = this.server.handle.accept({ envelope, era, ...origin, exchange });
    });
  }
}
