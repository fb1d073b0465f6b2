// Deliveries of the host's hooks, which it lists for three days: of those that a repository has, and of those that have sent
// something (known-hooks.ts).

import type { RepoHostTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { path } from '../../../../libs/rest/path.ts';
import { memberOf, textMember } from '../../payloads/payload-member.ts';
import type { Attempt, HookHost } from '../failed-deliveries.ts';
import { nextPage } from '../next-page.ts';
import type { RepoHostApi } from './api.ts';
import { repoHostEvents } from './facts.ts';
import type { KnownHooks } from './known-hooks.ts';

const KEPT_MS = 3 * 86_400_000;

export function repoHostHooks(known: KnownHooks): HookHost<RepoHostTrigger, RepoHostApi> {
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
      const since = Date.now() - KEPT_MS;
      const all = listIn(data);
      const kept = all.filter((each) => !(Date.parse(textMember(each, 'delivered_at') ?? '') < since));
      const next = kept.length < all.length ? undefined : nextPage(deliveries, link);
      return { attempts: kept.flatMap((each) => attemptOf(each) ?? []), next };
    },
    async askAgain({ rest }, hook, attempt, signal) {
      const attempts = hook + path`/deliveries/${attempt}/attempts`;
      await rest.write(attempts, {}, `another attempt at a delivery of ${hook}`, signal);
    },
    known: ({ host, alike }) => known.of(host.store, alike),
  };
}

/** Undefined for one of an event that the gateway does not know. */
function attemptOf(delivery: unknown): Attempt | undefined {
  const name = textMember(delivery, 'guid');
  if (name === undefined || !repoHostEvents.isKnown(textMember(delivery, 'event') ?? '')) return undefined;
  // 0 stands for a connection that failed.
  const status = Number(memberOf(delivery, 'status_code'));
  return { id: String(memberOf(delivery, 'id')), name, isTaken: status >= 200 && status <= 299 };
}

function listIn(data: unknown): readonly unknown[] {
  return Array.isArray(data) ? data : [];
}
