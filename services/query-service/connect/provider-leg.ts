import { randomBytes } from 'node:crypto'
import type { ConnectCall, ConnectPage } from '../../contract/connect-call.ts'
import { isMembers } from '../../contract/member-path.ts'
import { parseJson } from '../../contract/strict-json.ts'
import { advance } from '../../domain/connect/advance.ts'
import type { LoginOutcome } from '../../domain/connect/capture.ts'
import { isReadOnly, sessionComplete } from '../../domain/connect/completed.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { retrieveSession, type StoredSession } from '../../platform/postgres/connect-sessions.ts'
import { findProviders } from '../../platform/postgres/providers.ts'
import {
  putCredentials,
  removeCredentials,
  removeUnconsented,
  removeUnfetched,
  retrieveCredentials,
  type TariffCredentials,
} from '../../platform/postgres/tariff-credentials.ts'
import { type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import { changeSession, type Found } from './change-session.ts'
import { bothDone, type ConnectDependencies } from './connect-dependencies.ts'
import { type Fetched, fetchPlan } from './fetch-plan.ts'
import { isUsable, keepFetched } from './keep-fetched.ts'
import { keepOwner } from './keep-owner.ts'
import { aboutBoth, type Leg, page, redirect } from './provider-page.ts'
import { carryOut, type Step } from './take-step.ts'

const routes: readonly string[] = [
  'start_tariff_integration',
  'auth_metadata_capture',
  'consent_capture',
  'mfa_capture',
  'multiple_available_tariffs',
  'no_available_tariffs',
  'failed_login',
]
const wayOut: readonly (string | null)[] = ['DISMISS_DIRECT', 'DISCONNECT']

/** How long the relay leaves a fetch to the call that has just begun it, in ms. */
const headStartMs = 60_000

/** Tell whether a call comes from the app of a provider: by its route, or because it leaves the login. */
export const isProviderCall = ({ route, action }: ConnectCall, { state }: StoredSession): boolean =>
  (route !== null && routes.includes(route)) || (state.page === 'login' && wayOut.includes(action))

const noLogin = refused('route_invalid', 'The session has no provider with a login; send session_start for the page that is open', 'route')
const noMetadata = refused('auth_metadata_invalid', 'Send the fields of the form as data', 'data')
const unknownMetadata = refused('auth_metadata_invalid', 'Send the auth_metadata_id of this session', 'data.auth_metadata_id')
const mostFields = 1_048_576
const tooManyFields = refused('auth_metadata_invalid', `Send fields of at most ${mostFields} characters, all pages together`, 'data')
const noConsent = refused('consent_missing', 'Send consent_given: true, or leave with the action DISMISS_DIRECT', 'data.consent_given')

type Work = (transaction: TenantTransaction, session: StoredSession) => Promise<Result<Step>>

/** A login that goes on after its session was completed in another way changes nothing. */
const change = ({ dependencies, found }: Leg, work: Work): Promise<Result<Step>> =>
  changeSession(dependencies, found, async (transaction, session) => (isReadOnly(session) ? sessionComplete : work(transaction, session)))

const still = (session: StoredSession): Result<Step> => accepted({ session, isEnding: false, deeds: { events: [], audit: [], orders: [] } })

/** Move the session as its login ends. */
const leave = (leg: Leg, outcome: LoginOutcome): Work => {
  const { dependencies, found } = leg
  return (transaction, session) => {
    const move = advance(session.config, session.state, { kind: 'submit', captured: { page: 'login', outcome } })
    return move.ok ? carryOut(dependencies, transaction, session, move.value, found.at) : Promise.resolve(move)
  }
}

/** Leave the login: what was given for it, and has brought no tariff yet, is forgotten. */
const goBack = async (leg: Leg): Promise<Result<ConnectPage>> => {
  const left = await change(leg, async (transaction, session) => {
    await removeUnfetched(transaction, session.id)
    return leave(leg, leg.found.call.action === 'DISCONNECT' ? 'another' : 'skipped')(transaction, session)
  })
  return left.ok ? accepted(redirect(leg)) : left
}

/** Keep what the person gave the app, sealed, until there is consent to use it. */
const takeMetadata = async (leg: Leg): Promise<Result<ConnectPage>> => {
  const { dependencies, found, session, provider } = leg
  const { sent } = found.call
  if (sent === null || Object.keys(sent).length === 0) return noMetadata
  const id = `aut_${randomBytes(16).toString('hex')}`
  const nothingYet = { referenceId: null, consentedAt: null, locationId: null, tariffId: null, fetchedAt: null, failingSince: null }
  const kept = await change(leg, async (transaction, locked) => {
    if (locked.state.provider?.id !== provider.id) return noLogin
    const { direction, type } = locked.config
    const sealed = dependencies.credentialsSeal.seal(JSON.stringify(sent), id)
    const whose = { ...found.tenant, id, sessionId: session.id, providerId: provider.id, direction, type }
    await removeUnconsented(transaction, locked.id)
    await putCredentials(transaction, { ...whose, ...nothingYet, sealed, failureToldAt: null, dueAt: null, createdAt: found.at })
    return still(locked)
  })
  return kept.ok ? accepted(page(leg, 'consent_capture', { ...(await aboutBoth(leg)), auth_metadata_id: id })) : kept
}

/** Find what this session's app has given before, for the provider that the session has still: it is posted to no other. */
const metadataOf = async (
  transaction: TenantTransaction,
  { found, provider }: Leg,
  { state }: StoredSession,
): Promise<TariffCredentials | null> => {
  if (state.provider?.id !== provider.id) return null
  const id = found.call.data?.['auth_metadata_id']
  const credentials = typeof id === 'string' ? await retrieveCredentials(transaction, id, { forUpdate: true }) : null
  return credentials?.sessionId === found.sessionId && credentials.providerId === provider.id ? credentials : null
}

/** What a further page adds: the account that is meant, or fields such as a one-time code. Refuses more than a body may hold. */
const withMore = ({ dependencies, found }: Leg, credentials: TariffCredentials): Result<TariffCredentials> => {
  const { route, data, sent } = found.call
  if (route === 'multiple_available_tariffs') {
    const account = data?.['account']
    const given = typeof account === 'object' && account !== null && 'id' in account ? account.id : (data?.['reference_id'] ?? data?.['id'])
    return accepted({ ...credentials, referenceId: typeof given === 'string' ? given.slice(0, 255) : credentials.referenceId })
  }
  if (route !== 'mfa_capture') return accepted(credentials)
  const { seal, open } = dependencies.credentialsSeal
  const { auth_metadata_id: _, ...fields } = sent ?? {}
  const before = parseJson(Buffer.from(open(credentials.sealed, credentials.id)))
  if (!before.ok || !isMembers(before.value)) throw new RangeError(`credentials ${credentials.id} hold no fields`)
  // A code that is asked for again takes the place of the one before it.
  const joined = JSON.stringify({ ...before.value, ...fields })
  return joined.length > mostFields ? tooManyFields : accepted({ ...credentials, sealed: seal(joined, credentials.id) })
}

/** Take the consent: the location is there from now on, its tariff is on its way, whatever becomes of this call. */
const consent = async (leg: Leg): Promise<Result<TariffCredentials>> => {
  const { dependencies, found } = leg
  const { at, call } = found
  let kept: TariffCredentials | null = null
  const step = await change(leg, async (transaction, session) => {
    const credentials = await metadataOf(transaction, leg, session)
    if (credentials === null) return unknownMetadata
    if (call.route === 'consent_capture' && call.data?.['consent_given'] !== true) return noConsent
    if (call.route !== 'consent_capture' && credentials.consentedAt === null) return noConsent
    const more = withMore(leg, credentials)
    if (!more.ok) return more
    const owner = await keepOwner(dependencies, transaction, session, { mustFollow: false, at })
    if (!owner.ok) return owner
    const { session: owned, location } = owner.value.value
    kept = { ...more.value, consentedAt: credentials.consentedAt ?? at, locationId: location.id, dueAt: at + headStartMs }
    await putCredentials(transaction, kept)
    const moved = await leave(leg, 'pending')(transaction, owned)
    return moved.ok ? accepted({ ...moved.value, deeds: bothDone(owner.value.deeds, moved.value.deeds) }) : moved
  })
  if (!step.ok) return step
  return kept === null ? unknownMetadata : accepted(kept)
}

/** Keep a tariff that came at once. What is no tariff for us counts as refused. */
const keepPlan = async (leg: Leg, id: string, fetched: Extract<Fetched, { kind: 'plan' }>): Promise<Result<Step>> => {
  const { dependencies, found } = leg
  return change(leg, async (transaction, session) => {
    const credentials = await retrieveCredentials(transaction, id, { forUpdate: true })
    if (credentials === null) return unknownMetadata
    const usable = await isUsable(credentials, fetched.plan)
    if (!usable.ok) {
      await removeCredentials(transaction, id)
      return leave(leg, 'skipped')(transaction, session)
    }
    const kept = await keepFetched(dependencies, transaction, credentials, usable.value, found.at)
    if (!kept.ok) return kept
    const saved = { ...session, tariffId: kept.value.value?.id ?? null, savedPrint: null, replaced: [] }
    const moved = await leave(leg, 'connected')(transaction, saved)
    return moved.ok ? accepted({ ...moved.value, deeds: bothDone(kept.value.deeds, moved.value.deeds) }) : moved
  })
}

/** Give up what the provider does not take: the person tries again, or goes on by hand. */
const giveUp = (leg: Leg, id: string, mayRetry: boolean): Promise<Result<Step>> =>
  change(leg, async (transaction, session) => {
    await removeCredentials(transaction, id)
    return leave(leg, mayRetry ? 'again' : 'skipped')(transaction, session)
  })

/** The person is in the app still: what it sends next is the login's. */
const stayAtLogin = (leg: Leg): Promise<Result<Step>> =>
  change(leg, async (transaction, session) =>
    session.state.page === 'pending' ? leave(leg, 'again')(transaction, session) : still(session),
  )

const fetchNow = async (leg: Leg): Promise<Result<ConnectPage>> => {
  const consented = await consent(leg)
  if (!consented.ok) return consented
  const credentials = consented.value
  const fetched = await fetchPlan(leg.dependencies, leg.provider.direct?.appUrl ?? '', credentials)
  if (fetched.kind === 'away') return accepted(redirect(leg))
  if (fetched.kind === 'accounts') {
    const stayed = await stayAtLogin(leg)
    if (!stayed.ok) return stayed
    const data = { ...(await aboutBoth(leg)), auth_metadata_id: credentials.id, accounts: fetched.accounts }
    return accepted(page(leg, fetched.accounts.length === 0 ? 'no_available_tariffs' : 'multiple_available_tariffs', data))
  }
  if (fetched.kind === 'plan') {
    const kept = await keepPlan(leg, credentials.id, fetched)
    return kept.ok ? accepted(redirect(leg)) : kept
  }
  const given = await giveUp(leg, credentials.id, fetched.kind === 'credentials')
  if (!given.ok) return given
  if (fetched.kind === 'refused') return accepted(redirect(leg))
  return accepted(page(leg, 'failed_login', { ...(await aboutBoth(leg)), message: fetched.message }))
}

/**
 * Answer the app of a provider, in which a person logs in while the session waits. Credentials are sealed before they are stored, are used
 * only after consent, and stand in no answer. Source: docs/rules/connect.md #provider-login.
 */
export const answerProvider = async (dependencies: ConnectDependencies, found: Found): Promise<Result<ConnectPage>> => {
  const { session, provider } = await withTenant(dependencies.database, found.tenant, async transaction => {
    const held = await retrieveSession(transaction, found.sessionId)
    const id = held?.state.provider?.id ?? null
    return { session: held, provider: id === null ? undefined : (await findProviders(transaction.query, [id]))[0] }
  })
  if (session === null || provider === undefined || provider.direct === null) return noLogin
  const leg = { dependencies, found, session, provider }
  if (wayOut.includes(found.call.action)) return goBack(leg)
  switch (found.call.route) {
    case 'auth_metadata_capture':
    case 'failed_login':
      return takeMetadata(leg)
    case 'consent_capture':
    case 'mfa_capture':
    case 'multiple_available_tariffs':
      return fetchNow(leg)
    default:
      return accepted(page(leg, 'auth_metadata_capture', await aboutBoth(leg)))
  }
}
