// Renames the address in `notifications/resources/updated` for a client that subscribed under a qualified
// address (aggregate/address-form.ts).

import { applyEdits } from '../../jsonrpc/apply-edits.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { rawJson, replaceSpan, toBuffer } from '../../jsonrpc/span.ts';
import { qualify } from '../aggregate/address-form.ts';
import type { NamedResources } from '../aggregate/named-resources.ts';

/** Returns the message for the client; unchanged unless it subscribed under a qualified address. */
export function qualifiedUpdate(
  envelope: Envelope,
  server: string,
  named: Pick<NamedResources, 'isQualified'> | undefined,
): Buffer {
  const { bytes } = envelope;
  if (named === undefined || envelope.method !== 'notifications/resources/updated') return bytes;
  const uri = envelope.paramText('uri');
  const span = envelope.param('uri');
  if (uri === undefined || span === undefined || !named.isQualified(server, uri)) return bytes;
  return toBuffer(applyEdits(bytes, [replaceSpan(span, rawJson(qualify(server, uri) ?? uri))]));
}
