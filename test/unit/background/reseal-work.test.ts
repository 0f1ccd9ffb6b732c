import sql from 'sql-template-tag'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { resealWork } from '../../../services/background/reseal-work.ts'
import {
  putCredentials,
  retrieveCredentials,
  type TariffCredentials,
} from '../../../services/connect/postgres/tariff-credentials.ts'
import { sealWith } from '../../../services/platform/access/seal.ts'
import { type Tenant, withTenant } from '../../../services/platform/postgres/transaction.ts'
import { createEndpoint, retrieveEndpoint } from '../../../services/platform/postgres/webhooks/webhook-endpoints.ts'
import { webhookSeal } from '../../../services/platform/postgres/webhooks/webhook-secret.ts'
import { acceptedValue } from '../../support/accepted-value.ts'
import { leasedTurn } from '../../support/partitions/leased-turn.ts'
import { endpointDraft } from '../../support/registry/drafts.ts'
import { makeTenants, openTestDatabase, type TestDatabase } from '../../support/stores/postgres.ts'

const [former, present, lost] = ['a'.repeat(32), 'b'.repeat(32), 'c'.repeat(32)] as const
const at = 1_760_000_000_000
let test: TestDatabase
let tenants: readonly Tenant[]

beforeAll(async () => {
  test = await openTestDatabase()
  const { live, test: other } = await makeTenants(test.database)
  tenants = [live, other]
  await test.database.operator(
    sql`insert into providers (id, display_name, countries, time_created) values ('prv_1', 'Works', '{DE}', now())`,
  )
})
afterAll(() => test[Symbol.asyncDispose]())

const makeEndpoint = (tenant: Tenant, secret: string): Promise<string> =>
  withTenant(test.database, tenant, async transaction => {
    const sealedSecret = (id: string) => webhookSeal(secret).seal(`signs for ${id}`, id)
    return acceptedValue(await createEndpoint(transaction, endpointDraft({ sealedSecret }), at)).id
  })

const makeCredentials = async (tenant: Tenant, id: string, key: string): Promise<void> => {
  const nothing = {
    referenceId: null,
    consentedAt: null,
    locationId: null,
    tariffId: null,
    fetchedAt: null,
    failingSince: null,
  }
  const sealed = sealWith(key, 'provider credentials').seal('{"user":"me"}', id)
  const owner = {
    ...tenant,
    id,
    sessionId: 'session',
    providerId: 'prv_1',
    direction: 'IMPORT',
    type: 'COMMODITY',
  } as const
  const one: TariffCredentials = { ...owner, ...nothing, sealed, failureReportedAt: null, dueAt: null, createdAt: at }
  await withTenant(test.database, tenant, transaction => putCredentials(transaction, one))
}

const sealedOf = (tenant: Tenant, endpoint: string, credentials: string) =>
  withTenant(test.database, tenant, async transaction => ({
    secrets: ((await retrieveEndpoint(transaction, endpoint))?.secrets ?? []).map(({ secret }) => secret),
    credentials: (await retrieveCredentials(transaction, credentials))?.sealed ?? '',
  }))

const resealAll = async (secrets: readonly [string, ...string[]]): Promise<unknown> => {
  const logged: unknown[] = []
  const logger = { info: (fields: object) => void logged.push(fields) }
  const work = resealWork({ database: test.database, secret: secrets, credentialsKey: secrets, logger })
  while ((await work?.turn(leasedTurn)) === true);
  return logged[0]
}

it('resealed values open with the present secret alone; values that no secret opens stay unchanged', async () => {
  const made = await Promise.all(
    tenants.map(async tenant => ({ tenant, endpoint: await makeEndpoint(tenant, former), id: 'aut_1' })),
  )
  for (const { tenant, id } of made) await makeCredentials(tenant, id, former)
  const [tenant] = tenants as [Tenant]
  const unknown = { endpoint: await makeEndpoint(tenant, lost), id: 'aut_2' }
  await makeCredentials(tenant, unknown.id, lost)
  const before = await sealedOf(tenant, unknown.endpoint, unknown.id)

  expect(await resealAll([present, former])).toEqual({ resealed: 2 * tenants.length })
  for (const one of made) {
    const { secrets, credentials } = await sealedOf(one.tenant, one.endpoint, one.id)
    expect(secrets.map(secret => webhookSeal(present).open(secret, one.endpoint))).toEqual([
      `signs for ${one.endpoint}`,
    ])
    expect(sealWith(present, 'provider credentials').open(credentials, one.id)).toBe('{"user":"me"}')
  }
  expect(await sealedOf(tenant, unknown.endpoint, unknown.id)).toEqual(before)
  expect(await resealAll([present, former])).toEqual({ resealed: 0 })
  expect(await resealAll([present])).toBeUndefined()
})
