// Webhook deliveries of this host, which lists them for seven days, and hooks that it disabled after repeated
// failures.
//
// A test event enables a hook. The test uses an event kind that the gateway ignores: the request is verified,
// gets status 200, and is dropped. Test events of other kinds would look like real events.

import type { RepoHostBTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { path } from '../../../../libs/rest/path.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import { deliveryIdOf } from '../delivery-id.ts';
import type { DeliveryAttempt, Hook, HookHost } from '../failed-deliveries.ts';
import { nextPage } from '../next-page.ts';
import type { RepoHostBApi } from './api.ts';
import { repoHostBEvents } from './facts.ts';
import { projectOf } from './project-path.ts';

/** Page size. Small, because each entry contains its whole payload. */
const PER_PAGE = 50;
/** Event kind of the test, which the gateway ignores. */
const HARMLESS_TEST = 'resource_access_token_events';

export const repoHostBHooks: HookHost<RepoHostBTrigger, RepoHostBApi> = {
  events: repoHostBEvents,
  async hooks({ rest }, repository, signal) {
    const hooks = `${projectOf(repository)}/hooks`;
    const { data } = await rest.read(`${hooks}?per_page=100`, `the hooks of ${repository}`, signal);
    return listIn(data).map((hook) => ({
      path: hooks + path`/${String(memberOf(hook, 'id'))}`,
      url: textMember(hook, 'url'),
      disabledReason: disabledReasonOf(hook),
    }));
  },
  async attempts({ rest }, hook, page, signal) {
    const events = `${hook}/events`;
    const what = `the events of ${hook}`;
    const { data, link } = await rest.read(page ?? `${events}?per_page=${PER_PAGE}`, what, signal);
    return { attempts: listIn(data).flatMap((each) => attemptOf(each) ?? []), next: nextPage(events, link) };
  },
  async redeliver({ rest }, hook, attempt, signal) {
    const resend = hook + path`/events/${attempt}/resend`;
    await rest.write(resend, {}, `another attempt at an event of ${hook}`, signal);
  },
  async enable({ rest }, hook, signal) {
    await rest.write(`${hook}/test/${HARMLESS_TEST}`, {}, `a test of ${hook}`, signal);
  },
};

/** Returns the reason why the host disabled a hook. An active hook has the status `executable`. */
function disabledReasonOf(hook: unknown): Hook['disabledReason'] {
  const alertStatus = textMember(hook, 'alert_status');
  if (alertStatus !== 'disabled' && alertStatus !== 'temporarily_disabled') return undefined;
  const until = textMember(hook, 'disabled_until');
  return until === undefined ? alertStatus : `${alertStatus} until ${until}`;
}

/** Returns the attempt; undefined if the event has no id, or the gateway does not handle it. */
function attemptOf(event: unknown): DeliveryAttempt | undefined {
  const headers = memberOf(event, 'request_headers');
  const name = deliveryIdOf(textMember(headers, 'Idempotency-Key', 'X-Gitlab-Event-UUID'));
  const facts = repoHostBEvents.facts('', memberOf(event, 'request_data'));
  if (name === undefined || typeof facts !== 'object') return undefined;
  // For deliveries that got no response, this is a text.
  const status = Number(memberOf(event, 'response_status'));
  return { id: String(memberOf(event, 'id')), name, isAccepted: status >= 200 && status <= 299 };
}

function listIn(data: unknown): readonly unknown[] {
  return Array.isArray(data) ? data : [];
}
