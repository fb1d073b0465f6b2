// What the platform says no with, and what it means: `{"ok":false,"error":"channel_not_found"}`, mostly under status 200. The word
// decides; it stands in notes and logs, and people search for it.

import type { ApiAnswer } from '../../../libs/rest/http-api.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, platformFault, sendingFault } from '../../events/outbox/platform-errors.ts';
import { ConnectionError } from '../connections/connector.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';

const final = (meaning: string) => ({ meaning, is: 'final' }) as const;
const passing = (meaning: string) => ({ meaning, is: 'passing' }) as const;
const tooSoon = (meaning: string) => ({ meaning, is: 'tooSoon' }) as const;

/** Of a token: nothing can be done under it, whatever is asked. */
const tokenErrors: PlatformErrors = {
  not_authed: final('there is no token'),
  invalid_auth: final('the token is not accepted'),
  token_revoked: final('the token was revoked'),
  token_expired: final('the token has expired'),
  account_inactive: final('the app was taken out of the workspace'),
  org_login_required: final('the workspace is being moved'),
  not_allowed_token_type: final('this takes a token of another kind'),
  access_denied: final('the app may not do this'),
  ekm_access_denied: final('administrators have suspended it'),
  team_access_not_granted: final('the app is not allowed in that workspace'),
  two_factor_setup_required: final('two-factor authentication has to be set up'),
  enterprise_is_restricted: final('not from an organization'),
};

export const chatWorkspaceErrors: PlatformErrors = {
  ...tokenErrors,
  missing_scope: final('the app has not the scope that this needs'),
  no_permission: final('the app may not do this'),
  link_disabled: final('the connection by socket is switched off for the app'),
  channel_not_found: final('there is no such channel, or the bot does not see it'),
  not_in_channel: final('the bot is not in the channel; invite it'),
  is_archived: final('the channel is archived'),
  msg_too_long: final('the text is too long'),
  msg_blocks_too_long: final('the blocks are too long'),
  no_text: final('there is no text'),
  too_many_attachments: final('too many attachments'),
  invalid_blocks: final('the blocks are not as the platform wants them'),
  invalid_blocks_format: final('the blocks are not as the platform wants them'),
  invalid_arguments: final('an argument is not as the platform wants it'),
  invalid_arg_name: final('an argument is not as the platform wants it'),
  restricted_action: final('the workspace does not let the bot write there'),
  restricted_action_read_only_channel: final('nobody may write in this channel'),
  restricted_action_non_threadable_channel: final('there are no threads in this channel'),
  restricted_action_thread_only_channel: final('nobody may write in this channel outside threads'),
  restricted_action_thread_locked: final('the thread is closed'),
  cannot_reply_to_message: final('there can be no thread below this message'),
  metadata_too_large: final('the metadata are too large'),
  message_not_found: final('there is no such message'),
  cant_update_message: final('the message cannot be changed'),
  edit_window_closed: final('the message can no longer be changed'),
  is_inactive: final('the channel takes no changes'),
  thread_not_found: final('there is no such thread'),
  user_not_found: final('there is no such user'),
  ratelimited: tooSoon('too many requests'),
  rate_limited: tooSoon('too many requests'),
  message_limit_exceeded: tooSoon('too many messages'),
  internal_error: passing('the platform has failed'),
  fatal_error: passing('the platform has failed'),
  service_unavailable: passing('the platform is not available'),
  request_timeout: passing('the request arrived only in part'),
  team_added_to_org: passing('the workspace is being moved'),
};

/** Of a message: it is not there, or can be changed no more. */
export const goneWords: readonly string[] = [
  'message_not_found',
  'cant_update_message',
  'edit_window_closed',
  'is_inactive',
];

/** The platform, or a proxy before it, has not done what was asked. */
export class WorkspaceRefusal extends Error {
  /** Of HTTP. */
  readonly status: number;
  readonly host: string;
  /** The platform's; undefined where something else has answered. */
  readonly word: string | undefined;
  /** What it says besides. */
  readonly details: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(host: string, method: string, { status, json, retryAfterMs }: ApiAnswer) {
    const word = textMember(json, 'error');
    const details = detailsOf(json);
    super(`${host} refused ${method}: ${faultOf({ status, word, details }).message}`);
    this.host = host;
    this.status = status;
    this.word = word;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
  }

  override get name(): string {
    return 'WorkspaceRefusal';
  }
}

/** Why a message was not sent; `what` it was. */
export function deliveryErrorOf(error: unknown, what: string): DeliveryError {
  return error instanceof WorkspaceRefusal ? faultOf(error) : sendingFault(error, what);
}

/** Whether it is the token that is refused, and not what was asked under it. */
export function isTokenRefused(error: unknown): error is WorkspaceRefusal {
  if (!(error instanceof WorkspaceRefusal)) return false;
  const { word, status } = error;
  return word === undefined ? status === 401 : Object.hasOwn(tokenErrors, word);
}

/** Why there is no connection, or not what was asked of it. */
export function connectionErrorOf(error: unknown): unknown {
  if (!(error instanceof WorkspaceRefusal)) return error;
  const { message, retryAfterMs } = error;
  const { isFinal } = faultOf(error);
  return new ConnectionError(message, { kind: isFinal ? 'refused' : 'transient', retryAfterMs });
}

interface Refused {
  readonly host?: string | undefined;
  readonly status: number;
  readonly word: string | undefined;
  readonly details: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** Of a word that nobody knows: with status 200 it is about what was asked, like nearly all of them. */
function faultOf({ host, status, word, details, retryAfterMs }: Refused): DeliveryError {
  const isSaid = word !== undefined && status < 300;
  return platformFault(chatWorkspaceErrors, {
    host,
    status: isSaid ? 400 : status,
    code: word,
    text: details,
    retryAfterMs,
  });
}

function detailsOf(json: unknown): string | undefined {
  const needed = textMember(json, 'needed');
  const messages = memberOf(json, 'response_metadata.messages');
  const said = Array.isArray(messages) ? messages.filter((each) => typeof each === 'string') : [];
  const all = [...(needed === undefined ? [] : [`it needs ${needed}`]), ...said];
  return all.length === 0 ? undefined : all.join('; ');
}
