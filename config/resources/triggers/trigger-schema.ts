// Schema of trigger files. Trigger types differ only in `spec.type` and `spec.config`. BusinessMessenger also
// has an alternative form, with `spec.platform` and rules for texts instead of commands.

import * as Type from 'typebox';
import { seconds } from '../../duration-schema.ts';
import { name, text } from '../../text-schema.ts';
import { resourceHeader } from '../resource-header.ts';
import { bindingSchema, type WrittenBinding } from './binding-schema.ts';
import type { TriggerRetry } from './trigger-of.ts';
import { webhookPath } from './webhook-path.ts';

const retrySchema = Type.Object(
  {
    attempts: Type.Integer({
      description: 'Maximum attempts per event, before it is dead.',
      default: 6,
      minimum: 1,
      maximum: 100,
    }),
    min_backoff_seconds: seconds('Initial backoff.', 5),
    factor: Type.Number({
      description: 'Backoff multiplier.',
      default: 3,
      minimum: 1,
      maximum: 100,
    }),
    max_backoff_seconds: seconds('Maximum backoff.', 600),
  },
  {
    description: 'Retries after failures; with the defaults, an event is dead after about ten minutes.',
    default: {},
  },
);

/** Options for event handling. */
const options = {
  enabled: Type.Boolean({ description: 'Enable the trigger.', default: true }),
  retry: retrySchema,
  timeout_seconds: seconds('Timeout of an attempt.', 300),
  on_failure: Type.Optional(
    Type.Enum(['reply', 'silent'], {
      description:
        'Notification of the sender about a failed or delayed event. Default: reply in chats, otherwise silent.',
    }),
  ),
  mentions: Type.Optional(
    Type.Enum(['none', 'allow'], {
      description:
        'Notification of users mentioned in answers; for platforms with mentions. Default: none, for BotMessenger allow.',
    }),
  ),
  welcome: Type.Optional(
    Type.String({
      description:
        'Message when the bot is added to a conversation, for platforms that report this; empty = no message.',
      pattern: '^[\\s\\S]{0,4000}$',
      patternErrorMessage: 'a text of up to 4000 characters',
    }),
  ),
};

export const optionsSchema = Type.Object(options);

/** Fields of `spec` for all types. */
const commonSpec = {
  commands: Type.Unsafe<Record<string, Type.Static<typeof bindingSchema>>>({
    type: 'object',
    patternProperties: { '^/?[^\\s/]{1,100}$': bindingSchema },
    additionalProperties: false,
    patternErrorMessage: 'a command without spaces, such as /deploy or pull_request.opened',
    description: 'Commands and their targets: with a slash in chats, event or event.action for RepoHost.',
    default: {},
  }),
  default_agent: Type.Optional(name('Agent for events without a matching command.')),
  ...options,
};

/** Returns the schema with `spec.type` and the `spec.config` of the type. */
export function triggerSchema(types: readonly string[], config: Type.TSchema) {
  return Type.Object({
    ...resourceHeader('Trigger'),
    spec: Type.Object(
      { type: Type.Enum([...types], { description: 'Type of the source.' }), config, ...commonSpec },
      { description: 'Source, commands and targets.' },
    ),
  });
}

const ruleSchema = Type.Object({
  match: Type.Object(
    {
      text_contains: Type.Array(Type.String({ minLength: 1 }), {
        description: 'Words; the text must contain at least one.',
        maxItems: 1000,
      }),
    },
    { description: 'Condition of the rule.' },
  ),
  agent: name('Agent for matching events.'),
});

/** Alternative form with `spec.platform`, `spec.webhook` and `spec.routing`. */
export const messengerFormSchema = Type.Object({
  ...resourceHeader('Trigger'),
  spec: Type.Object(
    {
      platform: text('Name of the platform.'),
      webhook: Type.Object(
        { path: webhookPath('Path of the webhook.', '/webhook/businessmessenger') },
        { description: 'Webhook of the platform.', default: {} },
      ),
      routing: Type.Object(
        {
          rules: Type.Array(ruleSchema, {
            description: 'Rules; the first match decides.',
            default: [],
            maxItems: 1000,
          }),
          default_agent: Type.Optional(name('Agent for events without a matching rule.')),
        },
        { description: 'Selection of the agent.', default: {} },
      ),
      ...options,
    },
    { description: 'Source, rules and targets.' },
  ),
});

/** Trigger as written in the file, without invalid parts: the fields that all types share. */
export interface WrittenTrigger {
  readonly metadata?: {
    readonly name?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly config?: Readonly<Record<string, unknown>>;
    readonly commands?: Readonly<Record<string, WrittenBinding>>;
    readonly default_agent?: string;
    readonly enabled?: boolean;
    readonly retry?: Partial<TriggerRetry>;
    readonly timeout_seconds?: number;
    readonly on_failure?: 'reply' | 'silent';
    readonly mentions?: 'none' | 'allow';
    readonly welcome?: string;
  };
}
