// Writes a `tools/call` request of the gateway together with its envelope. The positions are recorded while
// writing, so the message is not scanned, and the arguments are serialised once. The envelope is the same as
// readClientMessage returns for these bytes.

import { Envelope } from './envelope.ts';
import { MAX_DEPTH } from './json-scanner.ts';
import { type Changes, rawMembers } from './members.ts';
import { rpcCodes, TooDeepFault } from './rpc-fault.ts';
import { rawJson, type Span } from './span.ts';

/** Maximum depth of the arguments. `params` is one level. */
const MAX_ARGUMENT_DEPTH = MAX_DEPTH - 1;

/**
 * Returns the request, with its id as progress token. `meta` are further members of `_meta` as raw JSON.
 * Throws TooDeepFault if the arguments are nested too deeply.
 */
export function toolCallEnvelope(
  id: number,
  name: string,
  args: Readonly<Record<string, unknown>>,
  meta: Changes,
): Envelope {
  if (isDeeperThan(args, MAX_ARGUMENT_DEPTH))
    throw new TooDeepFault(
      rpcCodes.parseError,
      `the arguments of ${name.slice(0, 200)} are nested too deeply: a message has at most ${MAX_DEPTH} levels`,
    );
  let head = '';
  const append = (text: string): Span => {
    const start = head.length;
    head += text;
    return { start, end: head.length };
  };
  append('{"jsonrpc":"2.0","id":');
  const idAt = append(`${id}`);
  const { end: paramsStart } = append(',"method":"tools/call","params":');
  append('{"name":');
  const nameAt = append(rawJson(name));
  const { end: metaStart } = append(',"_meta":');
  append('{"progressToken":');
  const tokenAt = append(`${id}`);
  const more = rawMembers(meta);
  const { end: metaEnd } = append(more === '' ? '}' : `,${more}}`);
  const { end: argsStart } = append(',"arguments":');
  // Raw JSON has one character per byte. The arguments may be large, so they are encoded directly.
  const bytes = Buffer.concat([
    Buffer.from(head, 'latin1'),
    Buffer.from(`${JSON.stringify(args)}}}`, 'utf8'),
  ]);
  const envelope = new Envelope(bytes);
  envelope.kind = 'request';
  envelope.method = 'tools/call';
  envelope.id = idAt;
  envelope.params = { start: paramsStart, end: bytes.length - 1 };
  envelope.progressToken = tokenAt;
  envelope.hasUnreservedMeta = true;
  envelope.recordParam('name', nameAt);
  envelope.recordParam('_meta', { start: metaStart, end: metaEnd });
  envelope.recordParam('arguments', { start: argsStart, end: bytes.length - 2 });
  return envelope;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeperThan(each, levels - 1));
}
