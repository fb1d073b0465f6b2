// Lists of ids that contain a name cause a warning, because a name never matches.

import { expect, test } from 'vitest';
import { ResourceFolder } from '../resource-folder.ts';

const folder = new ResourceFolder();

const KEY = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
const env = { SECRET: 'a-secret-of-the-trigger' };
const requiredFields = {
  CommunityChat: `bot_token: "\${SECRET}", application_id: "1457469483726668048", public_key: "${KEY}"`,
  TeamChat: `app_id: "11111111-2222-3333-4444-555555555555", app_password: "\${SECRET}"`,
  ChatWorkspace: `bot_token: "xoxb-\${SECRET}", signing_secret: "\${SECRET}"`,
};

test.each([
  ['CommunityChat', 'guild_ids: ["1457469483726668048", Home]', 'guild_ids[1]: "Home"', 'a server'],
  ['CommunityChat', 'allowed_roles: [Admins, "1"]', 'allowed_roles[0]: "Admins"', 'a role'],
  ['TeamChat', 'allowed_tenants: [contoso.com]', 'allowed_tenants[0]: "contoso.com"', 'a tenant'],
  ['ChatWorkspace', 'users: ["*", ada]', 'users[1]: "ada"', 'a user'],
] as const)(
  'names in place of ids cause a warning in a %s trigger with { %s }',
  async (type, config, field, what) => {
    const { trigger, lines } = await folder.loadConfig(type, `${requiredFields[type]}, ${config}`, { env });
    expect(lines).toEqual([
      expect.stringContaining(`warning: spec.config.${field} is not the id of ${what}`),
    ]);
    expect(trigger).toBeDefined();
  },
);

test.each([
  ['CommunityChat', 'guild_ids: ["1457469483726668048"], allowed_roles: ["539082325061836999"]'],
  ['TeamChat', 'allowed_tenants: [72F988BF-86f1-41af-91ab-2d7cd011db47]'],
  ['ChatWorkspace', 'users: ["*", U0123ABCDEF, W0123ABCDEF]'],
] as const)('ids cause no warning in a %s trigger with { %s }', async (type, config) => {
  expect((await folder.loadConfig(type, `${requiredFields[type]}, ${config}`, { env })).lines).toEqual([]);
});
