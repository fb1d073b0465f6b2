// Webhook deliveries of this host, which lists them for three days. Covers the hooks of named repositories,
// and hooks that were noted when they sent an event (noted-hooks.ts).

import type { RepoHostTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { path } from '../../../../libs/rest/path.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import type { DeliveryAttempt, HookHost } from '../failed-deliveries.ts';
import { nextPage } from '../next-page.ts';
import type { RepoHostApi } from './api.ts';
import { repoHostEvents } from './facts.ts';
import type { NotedHooks } from './noted-hooks.ts';

const RETENTION_MS = 3 * 86_400_000;

export function repoHostHooks(notedHooks: NotedHooks): HookHost<RepoHostTrigger, RepoHostApi> {
  return {
    events: repoHostEvents,
    async hooks({ rest }, repository, signal) {
      const hooks = `/repos/${repository}/hooks`;
      const { data } = await rest.read(`${hooks}?per_page=100`, `the hooks of ${repository}`, signal);
      return listIn(data).map((hook) => ({
        path: hooks + path`/${String(memberOf(hook, 'id'))}`,
        url: textMember(hook, 'config.url'),
      }));
    },
    async attempts({ rest }, hook, page, signal) {
      const deliveries = `${hook}/deliveries`;
      const { data, link } = await rest.read(
        page ?? `${deliveries}?per_page=100`,
        `the deliveries of ${hook}`,
        signal,
      );
      const since = Date.now() - RETENTION_MS;
      const all = listIn(data);
      const recent = all.filter((each) => !(Date.parse(textMember(each, 'delivered_at') ?? '') < since));
      const next = recent.length < all.length ? undefined : nextPage(deliveries, link);
      return { attempts: recent.flatMap((each) => attemptOf(each) ?? []), next };
    },
    async redeliver({ rest }, hook, attempt, signal) {
      const attempts = hook + path`/deliveries/${attempt}/attempts`;
      await rest.write(attempts, {}, `another attempt at a delivery of ${hook}`, signal);
    },
    notedHooks: ({ host, sharedWith }) => notedHooks.of(host.store, sharedWith),
  };
}

/** Returns the attempt; undefined for unhandled events. */
function attemptOf(delivery: unknown): DeliveryAttempt | undefined {
  const name = textMember(delivery, 'guid');
  if (name === undefined || !repoHostEvents.isKnown(textMember(delivery, 'event') ?? '')) return undefined;
  // A failed connection has status 0.
  const status = Number(memberOf(delivery, 'status_code'));
  return { id: String(memberOf(delivery, 'id')), name, isAccepted: status >= 200 && status <= 299 };
}

function listIn(data: unknown): readonly unknown[] {
  return Array.isArray(data) ? data : [];
}
