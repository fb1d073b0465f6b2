// A session's subscriptions under qualified addresses, which contain the server id because another server has
// the same address (aggregate/address-form.ts). In update notifications, the server's own address is replaced
// with the address to which the client subscribed.

import { deleteOldest } from '../../../base/bounds/delete-oldest.ts';
import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { rawJson, replaceSpan, toBuffer } from '../../jsonrpc/span.ts';
import { qualify } from '../aggregate/address-form.ts';

const MAX_ENTRIES = 1_000;

export class QualifiedSubscriptions {
  /** Server and address, the oldest first; undefined before the first entry, as in most sessions. */
  #keys: Set<string> | undefined;

  /** Records a subscription to a server's resource. `isQualified`: under the qualified address. */
  note(server: string, uri: string, isQualified: boolean): void {
    const key = keyOf(server, uri);
    this.#keys?.delete(key);
    if (!isQualified) return;
    this.#keys ??= new Set();
    this.#keys.add(key);
    deleteOldest(this.#keys, MAX_ENTRIES);
  }

  /** Returns true if the client subscribed under the qualified address. */
  has(server: string, uri: string): boolean {
    return this.#keys?.has(keyOf(server, uri)) === true;
  }

  /** Returns a server's notification for the client; unchanged unless the subscription is qualified. */
  updateFor(envelope: Envelope, server: string): Buffer {
    const { bytes } = envelope;
    if (this.#keys === undefined || envelope.method !== 'notifications/resources/updated') return bytes;
    const uri = envelope.paramText('uri');
    const span = envelope.param('uri');
    if (uri === undefined || span === undefined || !this.has(server, uri)) return bytes;
    return toBuffer(applyEdits(bytes, [replaceSpan(span, rawJson(qualify(server, uri) ?? uri))]));
  }
}

const keyOf = (server: string, uri: string) => `${server}\n${uri}`;
