// A `tools/call` that the gateway writes itself. The positions of its parts are known from writing them, so the message is not
// scanned, and its arguments are serialised once.
//
// TCM1  the envelope is the one that readClientMessage reads from the same bytes.

import { Envelope } from './envelope.ts';
import { MAX_DEPTH } from './json-scanner.ts';
import { type Changes, rawMembers } from './members.ts';
import { rpcCodes, TooDeepFault } from './rpc-fault.ts';
import { rawJson, type Span } from './span.ts';

/** Levels below the message itself, which is one; `params` is the first of MAX_DEPTH. */
const MAX_ARGUMENT_DEPTH = MAX_DEPTH - 1;

/**
 * Returns the request, with its id as the progress token. `meta` has further members of `_meta` as raw JSON. Throws TooDeepFault
 * for arguments that are nested deeper than any message may be.
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
  const put = (text: string): Span => {
    const start = head.length;
    head += text;
    return { start, end: head.length };
  };
  put('{"jsonrpc":"2.0","id":');
  const idAt = put(`${id}`);
  const { end: paramsStart } = put(',"method":"tools/call","params":');
  put('{"name":');
  const nameAt = put(rawJson(name));
  const { end: metaStart } = put(',"_meta":');
  put('{"progressToken":');
  const tokenAt = put(`${id}`);
  const more = rawMembers(meta);
  const { end: metaEnd } = put(more === '' ? '}' : `,${more}}`);
  const { end: argsStart } = put(',"arguments":');
  // Raw JSON has one character per byte; the arguments may be large, and are encoded once.
  const bytes = Buffer.concat([
    Buffer.from(head, 'latin1'),
    Buffer.from(`${JSON.stringify(args)}}}`, 'utf8'),
  ]);
  const envelope = new Envelope(bytes);
  envelope.kind = 'request';
  envelope.method = 'tools/call';
  envelope.id = idAt;
  envelope.params = { start: paramsStart, end: bytes.length - 1 };
  envelope.askedToken = tokenAt;
  envelope.hasOwnMeta = true;
  envelope.note('name', nameAt);
  envelope.note('_meta', { start: metaStart, end: metaEnd });
  envelope.note('arguments', { start: argsStart, end: bytes.length - 2 });
  return envelope;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeperThan(each, levels - 1));
}
