// Error codes of the platform, their meaning and kind (final, transient, rate limited). A refusal is
// `{"ok":false,"error":"channel_not_found"}`, usually with status 200. Notes and logs contain the code.

import type { ApiResponse } from '../../../libs/rest/http-api.ts';
import type { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { type PlatformErrors, requestError, responseError } from '../../events/outbox/platform-errors.ts';
import { ConnectionError } from '../connections/connector.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';

const final = (meaning: string) => ({ meaning, kind: 'final' }) as const;
const transient = (meaning: string) => ({ meaning, kind: 'transient' }) as const;
const rateLimited = (meaning: string) => ({ meaning, kind: 'rateLimited' }) as const;

/** Errors of the token, which apply to every request. */
const tokenErrors: PlatformErrors = {
  not_authed: final('the token is missing'),
  invalid_auth: final('the token is not accepted'),
  token_revoked: final('the token was revoked'),
  token_expired: final('the token has expired'),
  account_inactive: final('the app was removed from the workspace'),
  org_login_required: final('the workspace is being migrated'),
  not_allowed_token_type: final('the request needs another kind of token'),
  access_denied: final('the app is not allowed to do this'),
  ekm_access_denied: final('suspended by administrators'),
  team_access_not_granted: final('the app has no access to the workspace'),
  two_factor_setup_required: final('two-factor authentication is required'),
  enterprise_is_restricted: final('not allowed for an organization'),
};

export const chatWorkspaceErrors: PlatformErrors = {
  ...tokenErrors,
  missing_scope: final('the app lacks a scope'),
  no_permission: final('the app is not allowed to do this'),
  link_disabled: final('socket mode is disabled for the app'),
  channel_not_found: final('the channel does not exist, or is invisible to the bot'),
  not_in_channel: final('the bot is not in the channel; invite it'),
  is_archived: final('the channel is archived'),
  msg_too_long: final('the text is too long'),
  msg_blocks_too_long: final('the blocks are too long'),
  no_text: final('the text is empty'),
  too_many_attachments: final('too many attachments'),
  invalid_blocks: final('invalid blocks'),
  invalid_blocks_format: final('invalid blocks'),
  invalid_arguments: final('invalid argument'),
  invalid_arg_name: final('invalid argument'),
  restricted_action: final('the workspace does not allow the bot to write there'),
  restricted_action_read_only_channel: final('the channel is read-only'),
  restricted_action_non_threadable_channel: final('the channel has no threads'),
  restricted_action_thread_only_channel: final('the channel allows messages in threads only'),
  restricted_action_thread_locked: final('the thread is closed'),
  cannot_reply_to_message: final('the message cannot have a thread'),
  metadata_too_large: final('the metadata is too large'),
  message_not_found: final('the message does not exist'),
  cant_update_message: final('the message cannot be edited'),
  edit_window_closed: final('the message can no longer be edited'),
  is_inactive: final('the channel is inactive'),
  thread_not_found: final('the thread does not exist'),
  user_not_found: final('the user does not exist'),
  ratelimited: rateLimited('too many requests'),
  rate_limited: rateLimited('too many requests'),
  expired_url: final('the response address has expired'),
  used_url: final('the response address was used five times'),
  message_limit_exceeded: rateLimited('too many messages'),
  internal_error: transient('internal error of the platform'),
  fatal_error: transient('internal error of the platform'),
  service_unavailable: transient('the platform is unavailable'),
  request_timeout: transient('the request arrived incomplete'),
  team_added_to_org: transient('the workspace is being migrated'),
};

/** Codes for messages that are missing or can no longer be edited. */
export const missingMessageCodes: readonly string[] = [
  'message_not_found',
  'cant_update_message',
  'edit_window_closed',
  'is_inactive',
];

/** Codes for channels that lack the bot. */
export const notMemberCodes: readonly string[] = ['not_in_channel', 'channel_not_found'];

/** The platform, or a proxy in front of it, refused a request. */
export class WorkspaceRefusal extends Error {
  /** HTTP status. */
  readonly status: number;
  readonly host: string;
  /** Error code of the platform; undefined if a proxy responded. */
  readonly code: string | undefined;
  /** Further response text. */
  readonly details: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(host: string, method: string, { status, json, retryAfterMs }: ApiResponse) {
    const code = textMember(json, 'error');
    const details = detailsOf(json);
    super(`${host} refused ${method}: ${faultOf({ status, code, details }).message}`);
    this.host = host;
    this.status = status;
    this.code = code;
    this.details = details;
    this.retryAfterMs = retryAfterMs;
  }

  override get name(): string {
    return 'WorkspaceRefusal';
  }
}

/** Converts a request error to a DeliveryError. `request` names the request in the message. */
export function deliveryErrorOf(error: unknown, request: string): DeliveryError {
  return error instanceof WorkspaceRefusal ? faultOf(error) : requestError(error, request);
}

/** Returns true if the platform refused the token, not only the request. */
export function isTokenRefused(error: unknown): error is WorkspaceRefusal {
  if (!(error instanceof WorkspaceRefusal)) return false;
  const { code, status } = error;
  return code === undefined ? status === 401 : Object.hasOwn(tokenErrors, code);
}

/** Converts a refusal to a ConnectionError, and returns other errors unchanged. */
export function connectionErrorOf(error: unknown): unknown {
  if (!(error instanceof WorkspaceRefusal)) return error;
  const { message, retryAfterMs } = error;
  const { isFinal } = faultOf(error);
  return new ConnectionError(message, { kind: isFinal ? 'refused' : 'transient', retryAfterMs });
}

interface RefusalFields {
  readonly host?: string | undefined;
  readonly status: number;
  readonly code: string | undefined;
  readonly details: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** Converts a refusal. An unknown code with status 200 concerns the request, as most codes do. */
function faultOf({ host, status, code, details, retryAfterMs }: RefusalFields): DeliveryError {
  const hasCode = code !== undefined && status < 300;
  return responseError(chatWorkspaceErrors, {
    host,
    status: hasCode ? 400 : status,
    code,
    text: details,
    retryAfterMs,
  });
}

function detailsOf(json: unknown): string | undefined {
  const scope = textMember(json, 'needed');
  const messages = memberOf(json, 'response_metadata.messages');
  const texts = Array.isArray(messages) ? messages.filter((each) => typeof each === 'string') : [];
  const all = [...(scope === undefined ? [] : [`needs ${scope}`]), ...texts];
  return all.length === 0 ? undefined : all.join('; ');
}
