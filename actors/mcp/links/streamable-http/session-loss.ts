// Detects that the remote server has lost the session. The specification requires status 404 (MCP 2025-11-25,
// Session Management); 410 (Gone) means the same. Servers also use other statuses, bodies and words, and
// error responses with status 200. If a loss is not detected, all later requests on the link fail.
//
// A loss closes the session for all clients, and tools have sessions too (terminals, browsers). Therefore,
// except for 404 and 410, only the sentences of the known SDKs count, as the whole text.

import { parseJson } from '../../../../config/reader/json-text.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import type { ErrorResponse } from '../http/remote-errors.ts';

const MAX_BYTES = 4_096;
const SESSION_NOT_FOUND = -32_001;

const BEFORE_INITIALIZATION = 'received request before initialization was complete';
const SESSION = '(?:mcp[ -])?session(?:[ -]id)?(?: header)?';
const STATE = '(?:(?:is |has |has been |was )?(?:not found|expired|unknown|invalid|terminated|closed))';
const ADJECTIVE = '(?:no valid|no|invalid|unknown|expired|missing)';
/** An id has a digit or is quoted; `session cookie has expired` is about another session. */
const ID = '(?:with id )?(?=\\S*[\\d\'"`])\\S{1,100}';
const sentencesWith = (session: string) => [
  `(?:the )?${session} ${STATE}(?: or ${STATE})?`,
  `(?:the )?${session} (?:does not exist|no longer exists|is no longer (?:valid|active))`,
  `${ADJECTIVE}(?: or ${ADJECTIVE})? ${SESSION}(?: provided)?(?: or not an initiali[sz]e request)?`,
  '(?:the )?mcp-session-id header (?:is )?(?:required|missing)',
  'session id required in mcp-session-id header',
  '(?:the )?(?:mcp )?server (?:is |was )?not (?:yet )?initiali[sz]ed',
  'unexpected message, expect initiali[sz]e request',
  BEFORE_INITIALIZATION,
];
/** The reason phrase of the status may come before the sentence. */
const startOf = (sentences: readonly string[]) => `^(?:[a-z]+(?: [a-z]+)?: )?(?:${sentences.join('|')})`;
const LOSS = new RegExp(`${startOf(sentencesWith(SESSION))}[.!]?$`, 'i');
/** Some servers add the id of the session, in the sentence or after it, or the remedy. */
const REMEDY =
  '[,;.:]? (?:please )?(?:re-?initiali[sz]e|reconnect|(?:create|start|open) a new session|send an? (?:new )?initiali[sz]e request)';
const LOSS_WITH_ID = new RegExp(
  `${startOf(sentencesWith(`${SESSION}(?:[ :]{1,2}${ID})?`))}(?:[ :]{1,3}\\S{1,100})?(?:${REMEDY})?[.!]?$`,
  'i',
);

/**
 * Returns true if the response means that the session is lost. `isAnswer`: the body is the JSON-RPC response
 * to the refused request. Called only for requests with a session.
 */
export function isSessionLost({ status, body }: ErrorResponse, isAnswer: boolean): boolean {
  const { code, text } = errorIn(body);
  if (status === 404 || status === 410)
    return !isAnswer || code === SESSION_NOT_FOUND || /\bsession\b/i.test(text);
  return status >= 400 && status <= 499 && LOSS_WITH_ID.test(text);
}

/** Returns true if an error response with status 200 means that the session is lost. */
export function isLostInAnswer(message: Buffer): boolean {
  if (message.length > MAX_BYTES || !message.includes('"error"')) return false;
  const { code, text } = errorIn(message);
  // A tool may require a session as an argument.
  if (code === rpcCodes.invalidParams) return text.toLowerCase().startsWith(BEFORE_INITIALIZATION);
  return code !== undefined && (code === SESSION_NOT_FOUND ? LOSS_WITH_ID : LOSS).test(text);
}

/** Returns the error of a body: JSON-RPC, other JSON with a text, or text. */
function errorIn(body: Buffer): { readonly code?: unknown; readonly text: string } {
  const bodyText = body.toString('utf8', 0, MAX_BYTES).trim();
  try {
    const { error, detail, message } = parseJson(bodyText) as Readonly<Record<string, unknown>>;
    if (typeof error !== 'object' || error === null)
      return { text: String(error ?? detail ?? message ?? '') };
    const { code, message: text = '' } = error as { readonly code?: unknown; readonly message?: unknown };
    return { code, text: String(text) };
  } catch {
    return { text: bodyText };
  }
}
