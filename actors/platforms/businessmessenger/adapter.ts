// Triggers of type BusinessMessenger: a messenger whose platform sends notifications to a webhook, and takes answers by its
// cloud API. Several numbers of one app share a path and a secret; a message is for the triggers of its number alone.
//
// BM1  what is authentic is answered 200, whatever is in it: other answers have the platform send it again, for days.
// BM2  each message is an event of its own, and known again by its id; those of one notification are accepted in their order.

import type { BusinessMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { chatFilters } from '../../events/inbox/chat-filters.ts';
import type { Principal } from '../../identity/principal.ts';
import type { Adapter, OpenTrigger, SourceHost } from '../adapter.ts';
import { hubVerifier } from '../webhooks/hub-verifier.ts';
import type { Verifier } from '../webhooks/verified-subscribers.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { readMessageEvent } from './event.ts';
import { businessMessengerOutbound } from './outbound.ts';
import { businessMessengerPath, type MessengerSubscriber, SIGNATURE } from './path.ts';
import { SendingNow } from './sending-now.ts';

/** The platform's own bound on a notification is 3 MB. */
const MAX_NOTIFICATION_BYTES = 4 * 1024 * 1024;

/** Whoever knows the secret of the app. */
const platform: Principal = { kind: 'signature', name: 'app_secret' };

/** `maxBodyBytes` bounds one request to a webhook. */
export function businessMessengerAdapter(maxBodyBytes: number): Adapter<BusinessMessengerTrigger> {
  const sending = new SendingNow();
  const table = new WebhookTable<MessengerSubscriber>(
    businessMessengerPath(Math.min(maxBodyBytes, MAX_NOTIFICATION_BYTES), sending),
  );
  return {
    type: 'BusinessMessenger',
    account: ({ config }) => config.phone_number_id,
    async open(trigger: BusinessMessengerTrigger, host: SourceHost): Promise<OpenTrigger> {
      const subscriber = { trigger, host, methods: ['GET', 'POST'], verifier: verifierOf(trigger) };
      return { close: await table.add(subscriber, trigger.config.path) };
    },
    read: readMessageEvent,
    filters: ({ config }) => chatFilters({ users: [...config.allowed_numbers, ...config.allowed_users] }),
    outbound: businessMessengerOutbound(sending),
  };
}

function verifierOf({ config }: BusinessMessengerTrigger): Verifier {
  const { app_secret, insecure_allow_unverified: allowsUnverified } = config;
  return hubVerifier({
    header: SIGNATURE,
    secrets: [app_secret],
    field: 'app_secret',
    allowsUnverified,
    principal: platform,
  });
}
