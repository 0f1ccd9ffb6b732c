import { type Refused, refused } from './refusal.ts'

/** Kinds of objects that have an id, in the words of messages. A member of a body or a query names the first ones. */
const codes = {
  location: 'location_not_found',
  customer: 'customer_not_found',
  device: 'device_not_found',
  calendar: 'calendar_not_found',
  'market source': 'market_source_not_found',
  plan: 'plan_not_found',
  provider: 'provider_not_found',
  tariff: null,
  charge: null,
  user: null,
  record: null,
  event: null,
  'dead letter': null,
  'shared market source that feeds can fill': null,
  'webhook endpoint': null,
  'delivery of this webhook endpoint': null,
  'resend of this webhook endpoint': null,
} as const

type Kind = keyof typeof codes
type NamedKind = { [Each in Kind]: (typeof codes)[Each] extends null ? never : Each }[Kind]

/** Refuse the id in a path: the account has no object with this id. */
export const noObject = (kind: Kind): Refused => refused('not_found', `No ${kind} has this id`)

/** Refuse the id in a member of a body or a query: the account has no object with this id. */
export const noNamedObject = (kind: NamedKind, field: string): Refused =>
  refused(codes[kind], `No ${kind} has this id`, field)
