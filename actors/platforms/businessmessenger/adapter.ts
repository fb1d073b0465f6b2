// Adapter for triggers of type BusinessMessenger. The platform sends notifications to a webhook, and accepts
// messages at a cloud API. Phone numbers with the same app share a path and a secret; a message is only for
// the triggers with its receiving number.
//
// Every verified notification gets status 200, because the platform repeats others for days. Each message is
// a separate event, identified by the message id. The messages in a notification are stored in order.

import type { BusinessMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { chatFilters } from '../../events/inbox/chat-filters.ts';
import type { Principal } from '../../identity/principal.ts';
import type { Adapter, AdapterServices, OpenTrigger, TriggerHost } from '../adapter.ts';
import { hubVerifier } from '../webhooks/hub-verifier.ts';
import type { Verifier } from '../webhooks/verified-subscribers.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { withAnsweredMessage } from './answered-message.ts';
import { readMessageEvent } from './event.ts';
import { businessMessengerOutbound } from './outbound.ts';
import { businessMessengerPath, type MessengerSubscriber, SIGNATURE } from './path.ts';
import { SendsInProgress } from './sends-in-progress.ts';

/**
 * Maximum request size; the platform limits a notification to 3 MB. Bounds the work for unverified requests.
 */
const MAX_NOTIFICATION_BYTES = 4 * 1024 * 1024;

/** Principal of requests signed with the app secret. */
const platform: Principal = { kind: 'signature', name: 'app_secret' };

export function businessMessengerAdapter({
  maxBodyBytes,
  store,
}: AdapterServices): Adapter<BusinessMessengerTrigger> {
  const sending = new SendsInProgress();
  const table = new WebhookTable<MessengerSubscriber>(
    businessMessengerPath(Math.min(maxBodyBytes, MAX_NOTIFICATION_BYTES), sending),
  );
  return {
    type: 'BusinessMessenger',
    account: ({ config }) => config.phone_number_id,
    async open(trigger: BusinessMessengerTrigger, host: TriggerHost): Promise<OpenTrigger> {
      const subscriber = { trigger, host, methods: ['GET', 'POST'], verifier: verifierOf(trigger) };
      return { close: await table.add(subscriber, trigger.config.path) };
    },
    read: readMessageEvent,
    addLookups: (event) => withAnsweredMessage(event, store),
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
