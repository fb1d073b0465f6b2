// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Command approval settings.

import { describe, expect, test } from 'vitest';
import { SchemaReader } from '../../../../../config/reader/schema-reader.ts';
import { SecretValues } from '../../../../../config/reader/secret-values.ts';
import { SourceFile } from '../../../../../config/reader/source-file.ts';
import { parseYamlTree } from '../../../../../config/reader/yaml-tree.ts';
import {
  bindingSchema,
  type WrittenBinding,
} from '../../../../../config/resources/triggers/binding-schema.ts';
import { readBindings } from '../../../../../config/resources/triggers/bindings.ts';
import { triggerTypes } from '../../../../../config/resources/triggers/trigger-types.ts';
import { ResourceFolder, triggerText } from '../resource-folder.ts';

const folder = new ResourceFolder();

function readBinding(fields: string, byTrigger: readonly string[] = []) {
  const source = new SourceFile('t.yaml', `{ agent: echo, ${fields} }`);
  const reader = new SchemaReader(source, {}, new SecretValues());
  const { root } = parseYamlTree(source);
  if (root === undefined) throw new Error('expected a document');
  reader.recordPosition('spec.commands.a', 0, 0);
  const binding = reader.read(bindingSchema, root, 'spec.commands.a') as WrittenBinding;
  const { bindings } = readBindings(reader, { a: binding }, triggerTypes.Manual, byTrigger);
  const problems = reader.problems.map(({ message }) => message.replace('spec.commands.a.', ''));
  return {
    approval: bindings[0]?.approval,
    problems,
  };
}

describe('a command with approval', () => {
  test('has approvers, a channel and a timeout', () => {
    expect(
      readBinding(
        'requires_approval: true, approvers: [ada, ben], approval_channel: "#ops", approval_timeout_seconds: 0, self_approval: true',
        ['eve'],
      ),
    ).toEqual({
      approval: {
        approvers: ['ada', 'ben'],
        approval_channel: '#ops',
        approval_timeout_seconds: 0,
        self_approval: true,
      },
      problems: [],
    });
  });

  test('has the approvers of its trigger by default, otherwise those of the channel', () => {
    const rules = { approval_timeout_seconds: 86_400, self_approval: false };
    expect(readBinding('requires_approval: true', ['eve'])).toEqual({
      approval: { ...rules, approvers: ['eve'], approval_channel: undefined },
      problems: [],
    });
    expect(readBinding('requires_approval: true, approval_channel: ops')).toEqual({
      approval: { ...rules, approvers: [], approval_channel: 'ops' },
      problems: [],
    });
  });

  test('without a possible approver is an error', () => {
    expect(readBinding('requires_approval: true').problems).toEqual([
      'requires_approval: has no approver: set approvers or an approval_channel, or approval_allowed_users of the trigger for a chat',
    ]);
    expect(readBinding('requires_approval: true, approvers: 5').problems).toEqual([
      'approvers: expected a list of at most 1000, found a number',
    ]);
  });

  test.each([
    ['BotMessenger', 'bot_token: "1:abc"'],
    ['ChatWorkspace', 'bot_token: "${S}", signing_secret: "${S}"'],
    ['TeamChat', 'app_id: a, app_password: "${S}"'],
    ['CommunityChat', `bot_token: "\${S}", application_id: "1", public_key: ${'ab'.repeat(32)}`],
    [
      'BusinessMessenger',
      'bot_token: "${S}", phone_number_id: "1", verify_token: "${S}", app_secret: "${S}"',
    ],
  ])('may get its approvers from a trigger of type %s', async (type, config) => {
    const { errors } = await folder.loadText(
      triggerText(
        type,
        `${config}, approval_allowed_users: [ada]`,
        '  commands: { deploy: { agent: echo, requires_approval: true } }',
      ),
      { env: { S: 'a-secret' } },
    );
    expect(errors).toEqual([]);
  });
});

describe('a command without approval', () => {
  test('reports approval settings, which have no effect', () => {
    const { approval, problems } = readBinding('approvers: [ada], self_approval: true');
    expect(approval).toBeUndefined();
    expect(problems).toEqual([
      'approvers: has no effect without requires_approval',
      'self_approval: has no effect without requires_approval',
    ]);
  });
});
