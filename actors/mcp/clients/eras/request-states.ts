// Request states in a cluster of gateways. A server or the gateway may respond to a call with an input
// request and a state (`requestState`); the client returns the state in a retry, which continues the call.
// The gateway encrypts ("seals") each state together with the id of the gateway process, so any node can
// forward the retry to that process, which restores the original state.

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { readClientMessage } from '../../jsonrpc/read-message.ts';
import { containsText, type Edit, rawJson, replaceSpan, toBuffer } from '../../jsonrpc/span.ts';

const STATE = 'requestState';

/** Seals states for all nodes of the cluster. */
interface StateSeal {
  wrapState(state: string): string;
  /**
   * Returns the original state and the id of the process that sealed it; undefined if no node of this cluster
   * did.
   */
  openState(text: string): { readonly instance: string; readonly state: string } | undefined;
}

export class RequestStates {
  readonly #seal: StateSeal;
  readonly #instance: string;

  constructor(seal: StateSeal, instance: string) {
    this.#seal = seal;
    this.#instance = instance;
  }

  /** Returns the edits that seal the state in a response. */
  edits(answer: Envelope): Edit[] {
    if (answer.result === undefined || !containsText(answer.message, STATE)) return [];
    const span = memberOf(answer.bytes, answer.result, STATE);
    const state = span && answer.parse(span);
    if (span === undefined || typeof state !== 'string') return [];
    return [replaceSpan(span, rawJson(this.#seal.wrapState(state)))];
  }

  /** Seals a state of the gateway. */
  wrap(state: string): string {
    return this.#seal.wrapState(state);
  }

  /**
   * Returns the request with the original state if this process sealed it, otherwise the request unchanged.
   */
  unwrap(request: Envelope): Envelope {
    const state = request.paramText(STATE);
    const span = request.param(STATE);
    const origin = state === undefined ? undefined : this.#seal.openState(state);
    if (span === undefined || origin?.instance !== this.#instance) return request;
    return readClientMessage(toBuffer(applyEdits(request.bytes, [replaceSpan(span, rawJson(origin.state))])));
  }
}
