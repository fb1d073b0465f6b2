// Deliveries of the host's hooks, which it lists for seven days, and hooks that it has switched off since they failed too often.
//
// A hook is switched on again by an event that it is asked to send, of a kind that the gateway does not know: it is authentic,
// answered 200 and dropped. What else can be asked for looks like something that has happened.

import type { RepoHostBTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { path } from '../../../../libs/rest/path.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import { deliveryIdOf } from '../delivery-id.ts';
import type { Attempt, Hook, HookHost } from '../failed-deliveries.ts';
import { nextPage } from '../next-page.ts';
import type { RepoHostBApi } from './api.ts';
import { repoHostBEvents } from './facts.ts';
import { projectOf } from './place.ts';

/** Each has its whole payload in it. */
const PER_PAGE = 50;
/** Events of this kind are dropped at the door. */
const HARMLESS_TEST = 'resource_access_token_events';

export const repoHostBHooks: HookHost<RepoHostBTrigger, RepoHostBApi> = {
  events: repoHostBEvents,
  async hooks({ rest }, repository, signal) {
    const hooks = `${projectOf(repository)}/hooks`;
    const { data } = await rest.read(`${hooks}?per_page=100`, `the hooks of ${repository}`, signal);
    return listIn(data).map((hook) => ({
      path: hooks + path`/${String(memberOf(hook, 'id'))}`,
      url: textMember(hook, 'url'),
      isOff: whyOff(hook),
    }));
  },
  async attempts({ rest }, hook, page, signal) {
    const events = `${hook}/events`;
    const what = `the events of ${hook}`;
    const { data, link } = await rest.read(page ?? `${events}?per_page=${PER_PAGE}`, what, signal);
    return { attempts: listIn(data).flatMap((each) => attemptOf(each) ?? []), next: nextPage(events, link) };
  },
  async askAgain({ rest }, hook, attempt, signal) {
    const resend = hook + path`/events/${attempt}/resend`;
    await rest.write(resend, {}, `another attempt at an event of ${hook}`, signal);
  },
  async switchOn({ rest }, hook, signal) {
    await rest.write(`${hook}/test/${HARMLESS_TEST}`, {}, `a test of ${hook}`, signal);
  },
};

/** `executable` is what one is that sends. */
function whyOff(hook: unknown): Hook['isOff'] {
  const status = textMember(hook, 'alert_status');
  if (status !== 'disabled' && status !== 'temporarily_disabled') return undefined;
  const until = textMember(hook, 'disabled_until');
  return until === undefined ? status : `${status} until ${until}`;
}

/** Undefined for one that is known by no name, or by which nothing would be handled here. */
function attemptOf(event: unknown): Attempt | undefined {
  const headers = memberOf(event, 'request_headers');
  const name = deliveryIdOf(textMember(headers, 'Idempotency-Key', 'X-Gitlab-Event-UUID'));
  const facts = repoHostBEvents.facts('', memberOf(event, 'request_data'));
  if (name === undefined || typeof facts !== 'object') return undefined;
  // What has had no answer has words here.
  const status = Number(memberOf(event, 'response_status'));
  return { id: String(memberOf(event, 'id')), name, isTaken: status >= 200 && status <= 299 };
}

function listIn(data: unknown): readonly unknown[] {
  return Array.isArray(data) ? data : [];
}
