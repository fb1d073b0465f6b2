// Tells from a refusal whether the remote server has lost our session. The specification has 404 for that, but
// 404 is also what some servers send along with an ordinary JSON-RPC error, and the servers built on the
// examples of the public SDK answer 400 "No valid session ID provided" instead. Taking such a 400 for an ordinary
// error would leave a link that fails for ever.

import type { Refusal } from '../http/remote-errors.ts';

/** `isAnswer`: the body is a JSON-RPC message that answers the refused request. Only asked while a session is held. */
export function isSessionGone(refusal: Refusal, isAnswer: boolean): boolean {
  if (refusal.status === 404) return !isAnswer || speaksOfSession(refusal.body);
  return refusal.status === 400 && !isAnswer && speaksOfSession(refusal.body);
}

function speaksOfSession(body: Buffer): boolean {
  try {
    const { error } = JSON.parse(body.toString('utf8'));
    return error.code === -32001 || /\bsession\b/i.test(error.message);
  } catch {
    return false;
  }
}
