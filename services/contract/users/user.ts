import { z } from 'zod'
import { type LinkPurpose, normalizeAddress, type User, userRoles } from '../../domain/user/user.ts'
import { exampleObject, instantOrNull, instantText, objectShape, objectToWire, orNull } from '../answer-field.ts'
import { fields, oneOf, refuseField, text } from '../field.ts'
import { fixedMembers } from '../fixed-member.ts'
import { listing, listParameters } from '../list.ts'
import { currentRoute, defineOperation, deletion, retrieval } from '../operation.ts'

const describeRole =
  'owner: everything. support: everything except changes of keys, users and webhook endpoints. read: reading only.'

const userShape = objectShape('usr', 'user', {
  address: z.string().describe('E-mail address in lower case.'),
  role: z.enum(userRoles).describe(describeRole),
  status: z.enum(['INVITED', 'ACTIVE']).describe('INVITED until the user has accepted the invitation.'),
  has_password: z.boolean().describe('True if the user can sign in with a password.'),
  has_provider_login: z.boolean().describe('True if the user can sign in with the OpenID provider.'),
  time_accepted: orNull(instantText),
})

export type UserWire = z.output<typeof userShape>

const userWithLinkShape = userShape.extend({
  link: z
    .string()
    .describe(
      'Link for the user. It works once. Only this answer contains it. Send it to the user over a safe channel.',
    ),
  link_expires: instantText.describe('72 h after the request.'),
})

/** Write a user without secrets. */
export const userToWire = (user: User): UserWire =>
  objectToWire('user', user, {
    address: user.address,
    role: user.role,
    status: user.acceptedAt === null ? 'INVITED' : 'ACTIVE',
    has_password: user.hasPassword,
    has_provider_login: user.providerSubject !== null,
    time_accepted: instantOrNull(user.acceptedAt),
  })

/** Path of the page that uses a link. */
export const linkPath = (purpose: LinkPurpose, token: string): string => `/console/${purpose}?token=${token}`

const address = text({ max: 254 })
  .transform(
    (value, context) => normalizeAddress(value) ?? refuseField(context, 'field_invalid', 'must be an e-mail address'),
  )
  .describe('E-mail address. The service sends no mail.')
  .meta({ examples: ['ada@example.com'] })

const example: UserWire = objectToWire('user', exampleObject('usr'), {
  address: 'ada@example.com',
  role: 'support',
  status: 'INVITED',
  has_password: false,
  has_provider_login: false,
  time_accepted: null,
})

const exampleWithLink = {
  ...example,
  link: 'https://meters.example.com/console/invitation?token=0f1e2d3c4b5a69788796a5b4c3d2e1f0',
  link_expires: '2025-09-17T10:00:00.000Z',
}

const tag = 'Users'
const answer = { name: 'User', shape: userShape }
const answerWithLink = { name: 'UserWithLink', shape: userWithLinkShape }

export const userCreate = defineOperation({
  id: 'user_create',
  summary: 'Invite a user',
  description:
    'Creates a user of the console and returns the link of the invitation. A user of live mode may also enter test mode.',
  tag,
  access: 'owner',
  routes: currentRoute('POST', '/users'),
  body: fields({ address, role: oneOf(...userRoles).describe(describeRole) }),
  answer: answerWithLink,
  status: 201,
  idempotent: true,
  secretAnswer: true,
  refusals: ['address_taken', 'too_many_users'],
  examples: { body: { address: 'ada@example.com', role: 'support' }, answer: exampleWithLink },
})

export const userList = defineOperation({
  id: 'user_list',
  summary: 'List users',
  description: 'Users of the console, newest first.',
  tag,
  ...listing('User', userShape, '/users', example),
  access: 'owner',
  endsWithClient: true,
  routes: currentRoute('GET', '/users'),
  query: listParameters({}),
})

export const userRetrieve = defineOperation({
  id: 'user_retrieve',
  summary: 'Retrieve a user',
  description: 'Returns a user of the console.',
  tag,
  ...retrieval(answer, example),
  access: 'owner',
  endsWithClient: true,
  routes: currentRoute('GET', '/users/{id}'),
})

export const userUpdate = defineOperation({
  id: 'user_update',
  summary: 'Change the role of a user',
  description: 'Ends the sessions of the user. The last owner keeps the role.',
  tag,
  access: 'owner',
  routes: currentRoute('PATCH', '/users/{id}'),
  body: fields({
    ...fixedMembers(userShape),
    role: oneOf(...userRoles)
      .describe(describeRole)
      .optional(),
  }),
  answer,
  status: 200,
  refusals: ['last_owner', 'field_immutable'],
  examples: { body: { role: 'read' }, answer: { ...example, role: 'read' } },
})

export const userDelete = defineOperation({
  id: 'user_delete',
  summary: 'Remove a user',
  description: 'Ends the sessions of the user. The audit log keeps the entries of the user. The last owner stays.',
  tag,
  ...deletion,
  access: 'owner',
  routes: currentRoute('DELETE', '/users/{id}'),
  refusals: ['last_owner'],
})

export const userLinkCreate = defineOperation({
  id: 'user_link_create',
  auditAction: 'user.create_link',
  summary: 'Create a link for a user',
  description:
    'Returns a new link: an invitation while the user is INVITED, a reset afterwards. A reset removes the other credential: a new password removes the provider login, and a new login removes the password. Earlier links of the user end. The link also ends when the user signs in, signs out everywhere or changes the password.',
  tag,
  access: 'owner',
  routes: currentRoute('POST', '/users/{id}/link'),
  body: fields({}),
  bodyOptional: true,
  answer: answerWithLink,
  status: 200,
  idempotent: true,
  secretAnswer: true,
  examples: { body: {}, answer: exampleWithLink },
})

/** Members of an operation that removes a credential. */
const removal = { tag, ...deletion, access: 'owner', refusals: ['last_owner'] } as const
const describeRemoval =
  'Ends the sessions and the open link of the user. Without another credential, the user needs a new link to sign in. A repeat changes nothing.'

export const userPasswordDelete = defineOperation({
  id: 'user_password_delete',
  auditAction: 'user.delete_password',
  summary: 'Remove the password of a user',
  description: `${describeRemoval} The last owner keeps one credential.`,
  ...removal,
  routes: currentRoute('DELETE', '/users/{id}/password'),
})

export const userProviderLoginDelete = defineOperation({
  id: 'user_provider_login_delete',
  auditAction: 'user.delete_provider_login',
  summary: 'Remove the provider login of a user',
  description: `${describeRemoval} The last owner keeps one credential.`,
  ...removal,
  routes: currentRoute('DELETE', '/users/{id}/provider-login'),
})
