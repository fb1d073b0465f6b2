// A trigger resource as a schema: the same for all types but for `spec.type` and `spec.config`. And the second form in
// which triggers of the business messenger occur.

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
      description: 'An event is tried so often, then it is dead.',
      default: 6,
      minimum: 1,
      maximum: 100,
    }),
    min_backoff_seconds: seconds('First pause.', 5),
    factor: Type.Number({
      description: 'Each pause is so many times the one before.',
      default: 3,
      minimum: 1,
      maximum: 100,
    }),
    max_backoff_seconds: seconds('Longest pause.', 600),
  },
  {
    description: 'What happens after a failure; as it is, about ten minutes until an event is dead.',
    default: {},
  },
);

/** How its events are handled. */
const options = {
  enabled: Type.Boolean({ description: 'false switches the trigger off.', default: true }),
  retry: retrySchema,
  timeout_seconds: seconds('One attempt of the handler may take this long.', 300),
  on_failure: Type.Optional(
    Type.Enum(['reply', 'silent'], {
      description:
        'reply tells whoever sent an event that is given up, or has to wait. Default: reply in chats, silent elsewhere.',
    }),
  ),
  mentions: Type.Optional(
    Type.Enum(['none', 'allow'], {
      description:
        'Whether what is a mention in an answer notifies people; for types whose platform has mentions. Default: none, for BotMessenger allow.',
    }),
  ),
  welcome: Type.Optional(
    Type.String({
      description:
        'What is said when the bot is brought into a conversation, for types whose platform tells that; an empty text says nothing.',
      pattern: '^[\\s\\S]{0,4000}$',
      patternErrorMessage: 'a text of up to 4000 characters',
    }),
  ),
};

export const optionsSchema = Type.Object(options);

/** Members of `spec` that all types have. */
const commonSpec = {
  commands: Type.Unsafe<Record<string, Type.Static<typeof bindingSchema>>>({
    type: 'object',
    patternProperties: { '^/?[^\\s/]{1,100}$': bindingSchema },
    additionalProperties: false,
    patternErrorMessage: 'a command without spaces, such as /deploy or pull_request.opened',
    description: 'Who answers, by command: with a slash in chats, event or event.action for RepoHost.',
    default: {},
  }),
  default_agent: Type.Optional(name('Agent for what no command takes.')),
  ...options,
};

/** The resource with `spec.type` and the `spec.config` of that type. */
export function triggerSchema(types: readonly string[], config: Type.TSchema) {
  return Type.Object({
    ...resourceHeader('Trigger'),
    spec: Type.Object(
      { type: Type.Enum([...types], { description: 'The type of source.' }), config, ...commonSpec },
      { description: 'What it listens to, and who answers.' },
    ),
  });
}

const ruleSchema = Type.Object({
  match: Type.Object(
    {
      text_contains: Type.Array(Type.String({ minLength: 1 }), {
        description: 'Words of which one must be in the text.',
        maxItems: 1000,
      }),
    },
    { description: 'When the rule holds.' },
  ),
  agent: name('Agent that answers.'),
});

/** The form with `spec.platform`, `spec.webhook` and `spec.routing`. */
export const messengerFormSchema = Type.Object({
  ...resourceHeader('Trigger'),
  spec: Type.Object(
    {
      platform: text('Word of the platform.'),
      webhook: Type.Object(
        { path: webhookPath('Path of the webhook.', '/webhook/businessmessenger') },
        { description: 'Where the platform sends to.', default: {} },
      ),
      routing: Type.Object(
        {
          rules: Type.Array(ruleSchema, {
            description: 'The first that holds decides.',
            default: [],
            maxItems: 1000,
          }),
          default_agent: Type.Optional(name('Agent for what no rule takes.')),
        },
        { description: 'Who answers.', default: {} },
      ),
      ...options,
    },
    { description: 'What it listens to, and who answers.' },
  ),
});

/** What a reader gives, as far as it is the same for all types; what is bad has been left out. */
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
