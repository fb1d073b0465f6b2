// The event that a delivery of a repository host becomes, and how that event reads later. The body may be JSON or a form
// with JSON in it; it is kept as it came, since the signature was over that.

import type { NewEvent, StoredEvent } from '../../store/store.ts';
import type { InboundEvent } from '../adapter.ts';
import type { WebhookRequest } from '../webhook.ts';
import { RepoFacts, repoFacts } from './context.ts';

interface RepoMeta {
  readonly triggers: readonly string[];
  readonly event: string;
  readonly isForm: boolean;
}

/** Whether the body is a form, by its content type. */
export function isForm({ headers }: WebhookRequest): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(headers['content-type'] ?? '');
}

/** The value behind the bytes. Throws where there is none. */
export function repoPayload(bytes: Uint8Array, isInForm: boolean): unknown {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return JSON.parse(isInForm ? (new URLSearchParams(text).get('payload') ?? '') : text);
}

/**
 * The id of an event: `delivery` is the host's, which a redelivery keeps, and which all hooks that send the event share. So
 * `verifiedFor` is before it, the first by name of the triggers it was verified for: one team must not silence another.
 */
export function repoEventId(verifiedFor: string, delivery: string): string {
  return `repohost:${verifiedFor}/${delivery}`;
}

/** `triggers` are those that may take it. */
export function repoEvent(
  triggers: readonly string[],
  request: WebhookRequest,
  { id, event, facts }: { readonly id: string; readonly event: string; readonly facts: RepoFacts },
  body: Buffer,
): NewEvent {
  const meta: RepoMeta = { triggers, event, isForm: isForm(request) };
  return {
    id,
    key: `conversation/repohost/${placeOf(facts)}`,
    meta: JSON.stringify(meta),
    body,
    trace: request.traceparent,
    parsed: facts,
  };
}

/** Throws for an event that is none of these. */
export function readRepoEvent(stored: StoredEvent): InboundEvent {
  const { triggers, event, isForm: isInForm } = JSON.parse(stored.meta) as RepoMeta;
  const { parsed } = stored;
  const facts = parsed instanceof RepoFacts ? parsed : repoFacts(event, repoPayload(stored.body, isInForm));
  if (facts === undefined) throw new Error(`the payload is not that of an event ${event} of a repository`);
  const { action, repository, sender, text, context, payload } = facts;
  return {
    platform: 'repohost',
    triggers,
    names: action === undefined ? [event] : [`${event}.${action}`, event],
    text,
    channel: repository,
    user: sender,
    context,
    payload,
    parameters: {},
  };
}

/**
 * What the conversation is about: `owner/repo#7`, `owner/repo@refs/heads/main`, `owner/repo`. A branch of a fork is none of
 * the repository, whatever a stranger calls it: `owner/repo@stranger/repo:refs/heads/main`.
 */
function placeOf({ repository, number, ref, home }: RepoFacts): string {
  if (number !== undefined) return `${repository}#${number}`;
  if (ref === undefined) return repository;
  return home === undefined ? `${repository}@${ref}` : `${repository}@${home}:${ref}`;
}
