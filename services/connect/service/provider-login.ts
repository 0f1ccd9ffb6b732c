import { randomBytes } from 'node:crypto'
import { isJsonObject } from '../../contract/json/json-path.ts'
import { parseJson } from '../../contract/json/strict-json.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { findProviders } from '../../platform/postgres/registry/providers.ts'
import { type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import type { ConnectCall, ConnectPage } from '../contract/connect-call.ts'
import { advance } from '../domain/advance.ts'
import { isReadOnly, refusedComplete } from '../domain/completed-session.ts'
import type { LoginOutcome } from '../domain/page-submission.ts'
import { retrieveConnectSession, type StoredSession } from '../postgres/connect-sessions.ts'
import {
  putCredentials,
  removeCredentials,
  removeUnconsented,
  removeUnfetched,
  retrieveCredentials,
  type TariffCredentials,
} from '../postgres/tariff-credentials.ts'
import { changeSession, type FoundSession } from './change-session.ts'
import type { ConnectDependencies, ConnectTransaction } from './connect-dependencies.ts'
import { fetchPlan, type PlanFetchResult } from './fetch-plan.ts'
import { type ProviderLoginContext, providerAndAccount, providerPage, redirectPage } from './provider-page.ts'
import { readUsablePlan, saveFetchedTariff, withFetchedTariff } from './save-fetched-tariff.ts'
import { saveOwner } from './save-owner.ts'
import { takeBackSaved } from './save-tariff.ts'
import { applyTransition, type SessionStep } from './take-step.ts'

const providerRoutes: readonly string[] = [
  'start_tariff_integration',
  'auth_metadata_capture',
  'consent_capture',
  'mfa_capture',
  'multiple_available_tariffs',
  'no_available_tariffs',
  'failed_login',
]
const exitActions: readonly (string | null)[] = ['DISMISS_DIRECT', 'DISCONNECT']

/** Time in ms before the background work fetches a tariff that a call has started to fetch. */
const relayDelayMs = 60_000

/** Return whether a call comes from the app of a provider: it has a route of the app, or it leaves the login. */
export const isProviderCall = ({ route, action }: ConnectCall, { state }: StoredSession): boolean =>
  (route !== null && providerRoutes.includes(route)) || (state.page === 'login' && exitActions.includes(action))

const noLogin = refused(
  'route_invalid',
  'The session has no provider with a login. Send session_start to get the current page',
  'route',
)
const noMetadata = refused(
  'auth_metadata_invalid',
  'The form has no fields. Send the fields of the form as data',
  'data',
)
const unknownMetadata = refused(
  'auth_metadata_invalid',
  'The auth_metadata_id is missing or unknown. Send the auth_metadata_id of this session',
  'data.auth_metadata_id',
)
const maxFieldsLength = 1_048_576
const tooManyFields = refused(
  'auth_metadata_invalid',
  `The fields of all pages together are too long. Send at most ${maxFieldsLength} characters`,
  'data',
)
const noConsent = refused(
  'consent_missing',
  'The consent is missing. Send consent_given: true, or leave with the action DISMISS_DIRECT',
  'data.consent_given',
)

type Work = (transaction: ConnectTransaction, session: StoredSession) => Promise<Result<SessionStep>>

/** Change a session during a login. Refuses a session that was completed in another way during the login. */
const changeOpenSession = ({ dependencies, found }: ProviderLoginContext, work: Work): Promise<Result<SessionStep>> =>
  changeSession(dependencies, found, async (transaction, session) =>
    isReadOnly(session, found.at) ? refusedComplete : work(transaction, session),
  )

const unchanged = (session: StoredSession): Result<SessionStep> => accepted({ session, isEnding: false })

/** Move the session on when its login ends. */
const endLogin = async (
  transaction: ConnectTransaction,
  session: StoredSession,
  outcome: LoginOutcome,
): Promise<Result<SessionStep>> => {
  const submission = { page: 'login', outcome } as const
  const transition = advance(session.config, session.state, { kind: 'submit', submission })
  return transition.ok ? applyTransition(transaction, session, transition.value) : transition
}

/** Leave the login. Credentials that have not fetched a tariff yet are deleted. */
const leaveProvider = async (context: ProviderLoginContext): Promise<Result<ConnectPage>> => {
  const outcome = await changeOpenSession(context, async (transaction, session) => {
    await removeUnfetched(transaction, session.id)
    return endLogin(transaction, session, context.found.call.action === 'DISCONNECT' ? 'another' : 'skipped')
  })
  return outcome.ok ? accepted(redirectPage(context)) : outcome
}

/** Save the data that the person entered in the app, encrypted, until the person consents to its use. */
const saveMetadata = async (context: ProviderLoginContext): Promise<Result<ConnectPage>> => {
  const { dependencies, found, session, provider } = context
  const { sentData: sent } = found.call
  if (sent === null || Object.keys(sent).length === 0) return noMetadata
  const id = `aut_${randomBytes(16).toString('hex')}`
  const emptyCredentials = {
    referenceId: null,
    consentedAt: null,
    locationId: null,
    tariffId: null,
    fetchedAt: null,
    failingSince: null,
  }
  const saved = await changeOpenSession(context, async (transaction, locked) => {
    if (locked.state.provider?.id !== provider.id) return noLogin
    const { direction, type } = locked.config
    const sealed = dependencies.credentialsSeal.seal(JSON.stringify(sent), id)
    const owner = { ...found.tenant, id, sessionId: session.id, providerId: provider.id, direction, type }
    await removeUnconsented(transaction, locked.id)
    await putCredentials(transaction, {
      ...owner,
      ...emptyCredentials,
      sealed,
      failureReportedAt: null,
      dueAt: null,
      createdAt: found.at,
    })
    return unchanged(locked)
  })
  return saved.ok
    ? accepted(
        providerPage(context, 'consent_capture', { ...(await providerAndAccount(context)), auth_metadata_id: id }),
      )
    : saved
}

/** Find the credentials of this session. They are used only for the provider that the person entered them for. */
const metadataOf = async (
  transaction: TenantTransaction,
  { found, provider }: ProviderLoginContext,
  { state }: StoredSession,
): Promise<TariffCredentials | null> => {
  if (state.provider?.id !== provider.id) return null
  const id = found.call.data?.['auth_metadata_id']
  const credentials = typeof id === 'string' ? await retrieveCredentials(transaction, id, { forUpdate: true }) : null
  return credentials?.sessionId === found.sessionId && credentials.providerId === provider.id ? credentials : null
}

/**
 * Add the data of a further page: the chosen account, or fields such as a one-time code. Refuses fields that are too
 * long.
 */
const withMoreFields = (
  { dependencies, found }: ProviderLoginContext,
  credentials: TariffCredentials,
): Result<TariffCredentials> => {
  const { route, data, sentData: sent } = found.call
  if (route === 'multiple_available_tariffs') {
    const account = data?.['account']
    const given =
      typeof account === 'object' && account !== null && 'id' in account
        ? account.id
        : (data?.['reference_id'] ?? data?.['id'])
    return accepted({
      ...credentials,
      referenceId: typeof given === 'string' ? given.slice(0, 255) : credentials.referenceId,
    })
  }
  if (route !== 'mfa_capture') return accepted(credentials)
  const { seal, open } = dependencies.credentialsSeal
  const { auth_metadata_id: _, ...fields } = sent ?? {}
  const before = parseJson(Buffer.from(open(credentials.sealed, credentials.id)))
  if (!before.ok || !isJsonObject(before.value))
    throw new RangeError(`The credentials ${credentials.id} are not a JSON object.`)
  // A code that is entered again replaces the previous code.
  const merged = JSON.stringify({ ...before.value, ...fields })
  return merged.length > maxFieldsLength
    ? tooManyFields
    : accepted({ ...credentials, sealed: seal(merged, credentials.id) })
}

/** Save the consent and the location. The tariff is pending from now on, even if this call fails later. */
const takeConsent = async (context: ProviderLoginContext): Promise<Result<TariffCredentials>> => {
  const { at, call } = context.found
  let saved: TariffCredentials | null = null
  const step = await changeOpenSession(context, async (transaction, session) => {
    const credentials = await metadataOf(transaction, context, session)
    if (credentials === null) return unknownMetadata
    if (call.route === 'consent_capture' && call.data?.['consent_given'] !== true) return noConsent
    if (call.route !== 'consent_capture' && credentials.consentedAt === null) return noConsent
    const extended = withMoreFields(context, credentials)
    if (!extended.ok) return extended
    const owner = await saveOwner(transaction, session, false)
    if (!owner.ok) return owner
    const { session: ownedSession, location } = owner.value
    saved = {
      ...extended.value,
      consentedAt: credentials.consentedAt ?? at,
      locationId: location.id,
      dueAt: at + relayDelayMs,
    }
    await putCredentials(transaction, saved)
    return endLogin(transaction, ownedSession, 'pending')
  })
  if (!step.ok) return step
  return saved === null ? unknownMetadata : accepted(saved)
}

/** Save a tariff that the provider delivered at once. An invalid tariff counts as refused. */
const savePlan = (
  context: ProviderLoginContext,
  id: string,
  fetchResult: Extract<PlanFetchResult, { kind: 'plan' }>,
): Promise<Result<SessionStep>> =>
  changeOpenSession(context, async (transaction, session) => {
    const credentials = await retrieveCredentials(transaction, id, { forUpdate: true })
    if (credentials === null) return unknownMetadata
    const usable = await readUsablePlan(credentials, fetchResult.plan)
    if (!usable.ok) {
      await removeCredentials(transaction, id)
      return endLogin(transaction, session, 'skipped')
    }
    const takenBack = await takeBackSaved(transaction, session)
    if (!takenBack.ok) return takenBack
    const saved = await saveFetchedTariff(transaction, credentials, usable.value)
    return saved.ok ? endLogin(transaction, withFetchedTariff(session, saved.value), 'connected') : saved
  })

/** Delete credentials that the provider rejected. The person retries, or enters the tariff manually. */
const rejectCredentials = (
  context: ProviderLoginContext,
  id: string,
  canRetry: boolean,
): Promise<Result<SessionStep>> =>
  changeOpenSession(context, async (transaction, session) => {
    await removeCredentials(transaction, id)
    return endLogin(transaction, session, canRetry ? 'again' : 'skipped')
  })

/** Keep the session at the login, because the person is still in the app. */
const stayAtLogin = (context: ProviderLoginContext): Promise<Result<SessionStep>> =>
  changeOpenSession(context, async (transaction, session) =>
    session.state.page === 'pending' ? endLogin(transaction, session, 'again') : unchanged(session),
  )

const fetchNow = async (context: ProviderLoginContext): Promise<Result<ConnectPage>> => {
  const consentResult = await takeConsent(context)
  if (!consentResult.ok) return consentResult
  const credentials = consentResult.value
  const fetchResult = await fetchPlan(context.dependencies, context.provider.direct?.appUrl ?? '', credentials)
  if (fetchResult.kind === 'away') return accepted(redirectPage(context))
  if (fetchResult.kind === 'accounts') {
    const stayResult = await stayAtLogin(context)
    if (!stayResult.ok) return stayResult
    const data = {
      ...(await providerAndAccount(context)),
      auth_metadata_id: credentials.id,
      accounts: fetchResult.accounts,
    }
    return accepted(
      providerPage(
        context,
        fetchResult.accounts.length === 0 ? 'no_available_tariffs' : 'multiple_available_tariffs',
        data,
      ),
    )
  }
  if (fetchResult.kind === 'plan') {
    const saved = await savePlan(context, credentials.id, fetchResult)
    return saved.ok ? accepted(redirectPage(context)) : saved
  }
  const given = await rejectCredentials(context, credentials.id, fetchResult.kind === 'credentials')
  if (!given.ok) return given
  if (fetchResult.kind === 'refused') return accepted(redirectPage(context))
  return accepted(
    providerPage(context, 'failed_login', { ...(await providerAndAccount(context)), message: fetchResult.message }),
  )
}

/**
 * Answer a call of a provider's app, in which a person logs in while the session waits. Credentials are encrypted
 * before they are stored, are used only after consent, and are never part of an answer.
 * Source: docs/rules/connect.md #provider-login.
 */
export const answerProvider = async (
  dependencies: ConnectDependencies,
  found: FoundSession,
): Promise<Result<ConnectPage>> => {
  const { session, provider } = await withTenant(dependencies.database, found.tenant, async transaction => {
    const storedSession = await retrieveConnectSession(transaction, found.sessionId)
    const id = storedSession?.state.provider?.id ?? null
    return {
      session: storedSession,
      provider: id === null ? undefined : (await findProviders(transaction.query, [id]))[0],
    }
  })
  if (session === null || provider === undefined || provider.direct === null) return noLogin
  const context = { dependencies, found, session, provider }
  if (exitActions.includes(found.call.action)) return leaveProvider(context)
  switch (found.call.route) {
    case 'auth_metadata_capture':
    case 'failed_login':
      return saveMetadata(context)
    case 'consent_capture':
    case 'mfa_capture':
    case 'multiple_available_tariffs':
      return fetchNow(context)
    default:
      return accepted(providerPage(context, 'auth_metadata_capture', await providerAndAccount(context)))
  }
}
