// Detects that the remote server has lost the session. The specification requires status 404 (MCP 2025-11-25,
// Session Management), but servers report it with other statuses, bodies and words, also as an error response
// with status 200. If a loss is not detected, every later request on the link fails.
//
// A loss closes the session for all clients, and tools have sessions too (terminals, browsers). Therefore,
// except for 404, only the sentences of the known SDKs count, as the whole text.

import { parseJson } from '../../../../config/reader/json-text.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import type { ErrorResponse } from '../http/remote-errors.ts';

const MAX_BYTES = 4_096;
const SESSION_NOT_FOUND = -32_001;

const BEFORE_INITIALIZATION = 'received request before initialization was complete';
const SESSION = '(?:mcp[ -])?session(?:[ -]id)?(?: header)?';
const STATE = '(?:(?:is |has |has been |was )?(?:not found|expired|unknown|invalid|terminated|closed))';
const ADJECTIVE = '(?:no valid|no|invalid|unknown|expired|missing)';
const SENTENCES = [
  `(?:the )?${SESSION} ${STATE}(?: or ${STATE})?`,
  `(?:the )?${SESSION} (?:does not exist|no longer exists|is no longer (?:valid|active))`,
  `${ADJECTIVE}(?: or ${ADJECTIVE})? ${SESSION}(?: provided)?(?: or not an initiali[sz]e request)?`,
  '(?:the )?mcp-session-id header (?:is )?(?:required|missing)',
  'session id required in mcp-session-id header',
  '(?:the )?(?:mcp )?server (?:is |was )?not (?:yet )?initiali[sz]ed',
  'unexpected message, expect initiali[sz]e request',
  BEFORE_INITIALIZATION,
].join('|');
/** The reason phrase of the status may come before the sentence. */
const SENTENCE = `^(?:[a-z]+(?: [a-z]+)?: )?(?:${SENTENCES})`;
const LOSS = new RegExp(`${SENTENCE}[.!]?$`, 'i');
/** Some servers add the id of the session. */
const LOSS_WITH_ID = new RegExp(`${SENTENCE}(?:[ :]{1,3}\\S{1,100})?[.!]?$`, 'i');

/**
 * Returns true if the response means that the session is lost. `isAnswer`: the body is the JSON-RPC response
 * to the refused request. Called only for requests with a session.
 */
export function isSessionLost({ status, body }: ErrorResponse, isAnswer: boolean): boolean {
  const { code, text } = errorIn(body);
  if (status === 404) return !isAnswer || code === SESSION_NOT_FOUND || /\bsession\b/i.test(text);
  return status >= 400 && status <= 499 && LOSS_WITH_ID.test(text);
}

/** Returns true if an error response with status 200 means that the session is lost. */
export function isLostInAnswer(message: Buffer): boolean {
  if (message.length > MAX_BYTES || !message.includes('"error"')) return false;
  const { code, text } = errorIn(message);
  // A tool may require a session as an argument.
  if (code === rpcCodes.invalidParams) return text.toLowerCase().startsWith(BEFORE_INITIALIZATION);
  return code !== undefined && LOSS.test(text);
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
