// States of calls that wait for their client, as clients of a cluster have them: each says, sealed, which process handed it out, so
// that a retry finds it through any node. Within the process they are what they were.

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { readClientMessage } from '../../jsonrpc/read-message.ts';
import { type Edit, holds, rawJson, replacing, whole } from '../../jsonrpc/span.ts';

const STATE = 'requestState';

/** Adds the process to a state, sealed for the nodes of the cluster. */
interface StateSeal {
  wrapState(state: string): string;
  /** Returns the state and its process; undefined for a state of no node. */
  openState(text: string): { readonly instance: string; readonly state: string } | undefined;
}

export class HandedOutStates {
  readonly #sealed: StateSeal;
  readonly #instance: string;

  constructor(sealed: StateSeal, instance: string) {
    this.#sealed = sealed;
    this.#instance = instance;
  }

  /** What to change in an answer that hands a state out. */
  edits(answer: Envelope): Edit[] {
    if (answer.result === undefined || !holds(answer.message, STATE)) return [];
    const span = memberOf(answer.bytes, answer.result, STATE);
    const state = span && answer.parse(span);
    if (span === undefined || typeof state !== 'string') return [];
    return [replacing(span, rawJson(this.#sealed.wrapState(state)))];
  }

  wrap(state: string): string {
    return this.#sealed.wrapState(state);
  }

  /** A retry with the state as it was, where this process has handed it out. */
  plain(request: Envelope): Envelope {
    const state = request.paramText(STATE);
    const span = request.param(STATE);
    const opened = state === undefined ? undefined : this.#sealed.openState(state);
    if (span === undefined || opened?.instance !== this.#instance) return request;
    return readClientMessage(whole(applyEdits(request.bytes, [replacing(span, rawJson(opened.state))])));
  }
}
