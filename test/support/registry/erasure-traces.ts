import { randomUUID } from 'node:crypto'
import { zstdCompressSync } from 'node:zlib'
import sql from 'sql-template-tag'
import { newConnectState } from '../../../services/connect/domain/session.ts'
import {
  createConnectSession,
  reportTariff,
  type StoredSession,
} from '../../../services/connect/postgres/connect-sessions.ts'
import { putCredentials } from '../../../services/connect/postgres/tariff-credentials.ts'
import { currentInstant } from '../../../services/platform/clock.ts'
import { newId } from '../../../services/platform/ids/new-id.ts'
import type { Database } from '../../../services/platform/postgres/database.ts'
import { writeEvents } from '../../../services/platform/postgres/events/events.ts'
import { createExport } from '../../../services/platform/postgres/exports/exports.ts'
import { createAssignments, newAssignmentId } from '../../../services/platform/postgres/plans/plan-assignments.ts'
import { createPlan } from '../../../services/platform/postgres/plans/plans.ts'
import { createCharge } from '../../../services/platform/postgres/pricing/charges.ts'
import { createTariff } from '../../../services/platform/postgres/pricing/tariffs.ts'
import { appendAudit } from '../../../services/platform/postgres/registry/audit-log.ts'
import { createCustomer } from '../../../services/platform/postgres/registry/customers.ts'
import { createDevice } from '../../../services/platform/postgres/registry/devices.ts'
import { beginIdempotent, finishIdempotent } from '../../../services/platform/postgres/registry/idempotency.ts'
import { createLocation } from '../../../services/platform/postgres/registry/locations.ts'
import { createSimulation } from '../../../services/platform/postgres/simulations/simulations.ts'
import { createBatch } from '../../../services/platform/postgres/statements/statement-batches.ts'
import { recordAnswer } from '../../../services/platform/postgres/statements/statements.ts'
import { type Tenant, type TenantTransaction, withTenant } from '../../../services/platform/postgres/transaction.ts'
import { createUserLink } from '../../../services/platform/postgres/users/user-links.ts'
import { createUser } from '../../../services/platform/postgres/users/users.ts'
import { acceptedValue } from '../accepted-value.ts'
import { chargeDraft, locationDraft, tariffDraft } from './drafts.ts'

const hourMs = 3_600_000

/** Objects of a person. All texts that a person enters contain `name`, and ids are random. */
export type Person = {
  readonly customer: string
  readonly location: string
  readonly device: string
  readonly tariff: string
  readonly charge: string
  readonly user: string
  readonly sessions: readonly string[]
}

/** Create a person of a tenant, with rows in every table that can contain personal data. */
export const makePerson = (database: Database, tenant: Tenant, name: string): Promise<Person> =>
  withTenant(database, tenant, async transaction => {
    const at = currentInstant() - hourMs
    const metadata = { note: `${name} wrote this` }
    const customer = (
      await createCustomer(
        transaction,
        { referenceId: `customer ${name}`, displayName: `Family of ${name}`, metadata },
        at,
      )
    ).id
    const { postalAddress } = locationDraft()
    const draft = locationDraft({
      customerId: customer,
      referenceId: `location ${name}`,
      displayName: `Home of ${name}`,
      metadata,
    })
    const address = postalAddress === null ? null : { ...postalAddress, address_line1: `Street of ${name}` }
    const location = acceptedValue(await createLocation(transaction, { ...draft, postalAddress: address }, at)).id
    const device = (
      await createDevice(
        transaction,
        { referenceId: `device ${name}`, displayName: `Car of ${name}`, register: null, metadata },
        at,
      )
    ).id
    const terms = { displayName: `Tariff of ${name}`, contractEnd: at + 30 * 24 * hourMs }
    const tariff = acceptedValue(await createTariff(transaction, tariffDraft(location, terms), at)).tariff.id
    const charge = acceptedValue(await createCharge(transaction, chargeDraft(location, [device], name), at)).id
    await assignPlan(transaction, location, device, at)
    const invited = acceptedValue(await createUser(transaction, { address: `${name}@example.com`, role: 'read' }, at))
    await createUserLink(transaction, invited, 'secret', at)
    const person = { customer, location, device, tariff, charge, user: invited.id }
    const sessions = await createSessions(transaction, { ...person, sessions: [] }, name, at)
    await createTraces(transaction, { ...person, sessions }, name, at)
    return { ...person, sessions }
  })

/** Create a plan with a charge of a device, and assign the plan to a location. */
const assignPlan = async (transaction: TenantTransaction, location: string, device: string, at: number) => {
  const charges = [chargeDraft(location, [device]).terms]
  const prices = { tariffs: [], charges }
  const plan = acceptedValue(await createPlan(transaction, { name: 'Home', currencyCode: 'EUR' }, prices, at))
  const draft = { id: newAssignmentId(at), locationId: location, startDay: 20_000, endDay: null }
  await createAssignments(transaction, plan.id, [draft], at)
}

/** Return Connect sessions that refer to the person by customer, location, tariff or own reference only. */
const sessionsOf = (
  { accountId, liveMode }: TenantTransaction,
  { customer, location, tariff }: Person,
  name: string,
  at: number,
): readonly StoredSession[] => {
  const request = {
    connectUrl: null,
    callbackUrl: 'https://example.com',
    customerId: null,
    customerReferenceId: null,
    locationId: null,
    locationReferenceId: null,
    tariffId: null,
    addressType: null,
  }
  const forms: readonly Partial<StoredSession>[] = [
    { customerId: customer },
    { locationId: location },
    { request: { ...request, tariffId: tariff } },
    { request: { ...request, customerReferenceId: `customer ${name}` } },
    { request: { ...request, locationReferenceId: `location ${name}` } },
  ]
  const provider = { id: null, displayName: `Works of ${name}`, logoUrl: null, loginUrl: null, hasLibrary: false }
  const address = { address_line1: `Street of ${name}` }
  const state = { ...newConnectState, name: `Contract of ${name}`, address, provider }
  const config = {
    ...({ layout: 'current', summaryName: 'tariffs_summary', direction: 'IMPORT', type: 'COMMODITY' } as const),
    disconnect: false,
    edit: false,
    capturesAdvanced: false,
    capturesName: true,
    capturesTerm: false,
  }
  return forms.map((form, index) => ({
    accountId,
    liveMode,
    id: `${index} ${randomUUID()}`,
    sessionId: newId('connectSessionName', at),
    keyId: 'key',
    config,
    request,
    state,
    customerId: null,
    locationId: null,
    tariffId: null,
    savedPrint: null,
    replaced: [],
    completeAction: null,
    completedAt: null,
    announcedAt: null,
    createdAt: at,
    expiresAt: at + 2 * hourMs,
    ...form,
  }))
}

/** Create the Connect sessions of a person, with credentials and reported tariffs. Return the ids of the sessions. */
const createSessions = async (
  transaction: TenantTransaction,
  person: Person,
  name: string,
  at: number,
): Promise<readonly string[]> => {
  const { accountId, liveMode } = transaction
  const report = { locationId: null, tariffId: null, providerName: `Works of ${name}` }
  const sessions = sessionsOf(transaction, person, name, at)
  for (const session of sessions) {
    await createConnectSession(transaction, session)
    await putCredentials(transaction, {
      accountId,
      liveMode,
      id: randomUUID(),
      sessionId: session.id,
      providerId: 'prv_test',
      sealed: 'sealed',
      ...({ referenceId: `login ${name}`, direction: 'IMPORT', type: 'COMMODITY' } as const),
      consentedAt: null,
      locationId: null,
      tariffId: null,
      fetchedAt: null,
      failingSince: null,
      failureReportedAt: null,
      dueAt: null,
      createdAt: at,
    })
    await reportTariff(transaction, { ...report, sessionId: session.id }, at)
  }
  await reportTariff(transaction, { ...report, sessionId: 'gone', locationId: person.location }, at)
  await reportTariff(transaction, { ...report, sessionId: 'gone', tariffId: person.tariff }, at)
  return sessions.map(({ id }) => id)
}

const createTraces = async (
  transaction: TenantTransaction,
  person: Person,
  name: string,
  at: number,
): Promise<void> => {
  const { query, accountId, liveMode } = transaction
  const { customer, location, device, tariff, charge, user } = person
  const objects = [customer, location, device, tariff, charge, user]
  const events = await writeEvents(
    transaction,
    [
      ...objects.map(id => ({ type: 'x.create', objectId: id, data: { id, name } })),
      {
        type: 'schedule.created',
        objectId: null,
        data: { location_id: location, data: [{ device_id: device, name }] },
      },
      { type: 'connect_session.complete', objectId: null, data: { customer_id: customer, name } },
      ...['customer', 'location', 'device'].map(kind => {
        return {
          type: `${kind}.create.failed`,
          objectId: null,
          data: { reference_id: `${kind} ${name}`, error: { code: 'x' } },
        }
      }),
    ],
    at,
  )
  for (const id of objects) {
    const key = `key ${randomUUID()}`
    const claim = await beginIdempotent(transaction, { key, hash: 'hash' }, at)
    if (claim.kind !== 'begun') throw new Error('An idempotency key exists already.')
    await finishIdempotent(
      transaction,
      { key, token: claim.token },
      { status: 201, headers: {}, body: JSON.stringify({ id, name }) },
    )
    await appendAudit(query, transaction, { actor: 'key_1', action: 'x.create', objectId: id, detail: { name }, at })
  }
  const detail = { id: charge, device_ids: [device] }
  await appendAudit(query, transaction, { actor: 'key_1', action: 'charge.create', objectId: charge, detail, at })
  const days = { startDay: 20_000, endDay: 20_001 }
  const answered = { ...days, id: newId('statement', at), locationId: location, request: '{}', hash: 'hash', at }
  await recordAnswer(transaction, answered)
  await createSimulation(
    transaction,
    { request: JSON.stringify({ customer, location, device, name }), requestHash: randomUUID(), locationCount: 1 },
    at,
  )
  const exported = { id: newId('export', at), request: JSON.stringify({ location_id: location }), actor: 'key_1' }
  await createExport(transaction, exported, { unfinished: 10, bytes: 1, retentionMs: 1 }, at)
  const order = { request: '{}', finalises: false, allowsGaps: false, actor: 'key_1' }
  const batch = acceptedValue(await createBatch(transaction, newId('statementBatch', at), order, [location], at))
  await query(sql`
    update statement_batch_pages set finished_at = now(), device_ids = ${[device]}, answers = ${zstdCompressSync('')},
      failures = ${JSON.stringify([{ locationId: location, code: 'unavailable', message: 'No.' }])}
    where batch_id = ${batch.id}`)
  await query(sql`
    update statement_batches set status = 'DONE', failed = 1, finished_at = now() where id = ${batch.id}`)
  const endpoint = `whe_${randomUUID()}`
  await query(sql`
    insert into webhook_endpoints (account_id, live_mode, id, url, event_types, layout, secrets, time_created)
    values (${accountId}, ${liveMode}, ${endpoint}, 'https://example.com', '{*}', 'current', '[]', now())`)
  for (const { id } of events) {
    await query(sql`
      insert into webhook_deliveries (account_id, live_mode, id, endpoint_id, event_id, event_type, bytes, status, time_created)
      values (${accountId}, ${liveMode}, ${`whd ${id}`}, ${endpoint}, ${id}, 'x', 1, 'DELIVERED', now())`)
    await query(sql`
      insert into webhook_attempts (account_id, live_mode, id, delivery_id, endpoint_id, duration_ms, response_body, time_created)
      values (${accountId}, ${liveMode}, ${`wha ${id}`}, ${`whd ${id}`}, ${endpoint}, 1, ${`taken, ${name}`}, now())`)
  }
}
