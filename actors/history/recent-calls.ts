// The most recent client calls: ALL_CALLS of any outcome, and NOTEWORTHY_CALLS failed or slow ones, with
// request id, trace and code. The two rings have separate capacities: frequent successful calls do not
// displace failures.

import { isNoteworthy, MAX_RECORDED_CHARS, type RecordedCall, type RecordedOutcome } from './call-record.ts';
import { CallRing } from './call-ring.ts';

const ALL_CALLS = 4_096;
const NOTEWORTHY_CALLS = 1_024;

/** A completed call. Texts that are equal in many calls should be the same string (CallRing). */
export interface EndedRequest extends Omit<RecordedCall, 'n' | 'at' | 'requestId' | 'trace' | 'code'> {
  readonly code: string | undefined;
  /** `traceparent` may be computed on demand, so it is read for failed and slow calls only. */
  readonly origin: { readonly requestId: string; readonly traceparent?: string | undefined };
}

export interface CallFilter {
  /** Id of the server. */
  readonly server?: string | undefined;
  /** SERVER/TOOL. */
  readonly tool?: string | undefined;
  readonly outcomes?: ReadonlySet<RecordedOutcome> | undefined;
  /** Includes slow calls of any outcome. */
  readonly includesSlow?: boolean | undefined;
  /** Returns calls with smaller numbers. */
  readonly before?: number | undefined;
  readonly limit: number;
}

export class RecentCalls {
  readonly all = new CallRing(ALL_CALLS);
  readonly noteworthyCapacity = NOTEWORTHY_CALLS;
  /** Failed and slow calls: a ring like `all`, but with objects, because they are rare. */
  readonly #noteworthy: RecordedCall[] = [];
  #noteworthyCount = 0;
  #lastNumber = 0;

  /** Number of failed and slow calls added so far. */
  get noteworthyCount(): number {
    return this.#noteworthyCount;
  }

  record(call: EndedRequest): void {
    const { ms, server, tool, method, outcome, bytes, client, session } = call;
    const n = ++this.#lastNumber;
    const at = Date.now();
    this.all.add(n, at, ms, server, tool, method, outcome, bytes, client, session);
    if (isNoteworthy(call)) this.#addNoteworthy(withDetails(this.all.at(this.all.next - 1), call));
  }

  /** Adds calls of earlier processes, by number. Call it before `record`. */
  restore(all: readonly RecordedCall[], noteworthy: readonly RecordedCall[]): void {
    for (const { n, at, ms, server, tool, method, outcome, bytes, client, session } of all)
      this.all.add(n, at, ms, server, tool, method, outcome, bytes, client, session);
    for (const call of noteworthy) this.#addNoteworthy(call);
    this.#lastNumber = Math.max(0, all.at(-1)?.n ?? 0, noteworthy.at(-1)?.n ?? 0);
  }

  /** Returns the calls in `all` between two positions, except displaced calls. */
  allBetween(from: number, to: number): readonly RecordedCall[] {
    const calls: RecordedCall[] = [];
    for (let at = Math.max(from, this.all.first); at < to; at += 1) calls.push(this.all.at(at));
    return calls;
  }

  /** Same as `allBetween`, for failed and slow calls. A position is the number of earlier calls. */
  noteworthyBetween(from: number, to: number): readonly RecordedCall[] {
    const calls: RecordedCall[] = [];
    const oldest = Math.max(from, this.#noteworthyCount - NOTEWORTHY_CALLS);
    for (let at = oldest; at < to; at += 1) calls.push(this.#noteworthyAt(at));
    return calls;
  }

  /** Returns the matching calls, newest first, and the number to continue with; null after the last. */
  list(filter: CallFilter): { readonly calls: readonly RecordedCall[]; readonly nextBefore: number | null } {
    const calls: RecordedCall[] = [];
    for (const call of this.#newestFirst()) {
      if (!matches(call, filter)) continue;
      if (calls.length === filter.limit) return { calls, nextBefore: calls.at(-1)?.n ?? null };
      calls.push(call);
    }
    return { calls, nextBefore: null };
  }

  /** Merges the rings. A call in both is returned once, with its details. */
  *#newestFirst(): Generator<RecordedCall> {
    let position = this.all.next - 1;
    let noteworthy = this.#noteworthyCount - 1;
    const oldest = Math.max(0, this.#noteworthyCount - NOTEWORTHY_CALLS);
    while (position >= this.all.first || noteworthy >= oldest) {
      const call = position >= this.all.first ? this.all.at(position) : undefined;
      const detailed = noteworthy >= oldest ? this.#noteworthyAt(noteworthy) : undefined;
      if (detailed !== undefined && detailed.n >= (call?.n ?? 0)) {
        noteworthy -= 1;
        if (detailed.n === call?.n) position -= 1;
        yield detailed;
      } else if (call !== undefined) {
        position -= 1;
        yield call;
      }
    }
  }

  #addNoteworthy(call: RecordedCall): void {
    this.#noteworthy[this.#noteworthyCount++ % NOTEWORTHY_CALLS] = call;
  }

  #noteworthyAt(position: number): RecordedCall {
    return this.#noteworthy[position % NOTEWORTHY_CALLS] as RecordedCall;
  }
}

function withDetails(call: RecordedCall, { origin, code }: EndedRequest): RecordedCall {
  return {
    ...call,
    requestId: origin.requestId.slice(0, MAX_RECORDED_CHARS),
    trace: origin.traceparent?.split('-')[1]?.slice(0, MAX_RECORDED_CHARS) ?? null,
    code: code ?? null,
  };
}

function matches(call: RecordedCall, { server, tool, outcomes, includesSlow, before }: CallFilter): boolean {
  if (before !== undefined && call.n >= before) return false;
  if (server !== undefined && call.server !== server) return false;
  if (tool !== undefined && `${call.server}/${call.tool}` !== tool) return false;
  if (outcomes === undefined) return true;
  return outcomes.has(call.outcome) || (includesSlow === true && isNoteworthy({ ...call, outcome: 'ok' }));
}
