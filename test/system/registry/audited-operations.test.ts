import { describe, expect, it } from 'vitest'
import { auditActionOf, isAudited } from '../../../services/contract/operation.ts'
import { operations } from '../../../services/operations.ts'
import { nameOf, ownIdFor, planRequests, sendWith } from '../../support/openapi/planned-requests.ts'
import {
  assertDefined,
  callers,
  documents,
  fixtures,
  useIsolationFixtures,
} from '../../support/registry/isolation-fixture.ts'
import { createLocation } from '../../support/registry/object-fixture.ts'
import type { ApiVersion, Reply } from '../../support/system/client.ts'

useIsolationFixtures()

/** Operations that need what the fixtures do not have, with the test that reads their entries. */
const otherTests: Readonly<Record<string, string>> = {
  meter_import_undo: 'test/system/interchange/import-undo.test.ts',
  account_brand_update: 'test/system/console/console-pages.test.ts',
  user_password_delete: 'test/unit/console/user-credentials.test.ts',
  user_provider_login_delete: 'test/unit/console/user-credentials.test.ts',
}

/** Bodies instead of examples that name other objects. */
const bodies: Readonly<Record<string, object>> = {
  plan_create: { name: 'Audited', currency_code: 'EUR', charges: [{ kind: 'FIXED', name: 'Service', price: 0.1 }] },
}

const readLog = async (): Promise<readonly { readonly action: string; readonly actor: string }[]> => {
  const log = (await assertDefined(callers.current).ask('GET', '/audit-log?limit=100')) as {
    readonly data: readonly { readonly action: string; readonly actor: string }[]
  }
  return log.data
}

/** Perform an operation once with objects of the fixtures. */
const perform = async (id: string, apiVersion: ApiVersion): Promise<Reply> => {
  const planned =
    bodies[id] === undefined ? planRequests(apiVersion).find(({ operation }) => operation.id === id) : undefined
  if (planned !== undefined) {
    // The prices of the file are in USD, and must not overlap the tariff of the fixtures.
    const isImport = id === 'tariff_import'
    const objectId = isImport
      ? await createLocation(assertDefined(callers.current), { currency_code: 'USD' })
      : await ownIdFor(planned)
    const reply = await sendWith(planned, assertDefined(fixtures).own, objectId)
    expect(reply.status, `${nameOf(planned)}: ${reply.text}`).toBeLessThan(300)
    return reply
  }
  const operation = assertDefined(assertDefined(documents[apiVersion]).find(one => one.id === id))
  const reply = await assertDefined(callers[apiVersion]).send(
    operation.method,
    operation.path,
    bodies[id] ?? operation.body?.example,
  )
  expect(reply.status, `${id}: ${reply.text}`).toBeLessThan(300)
  return reply
}

describe('an operation that changes something', () => {
  const audited = operations.filter(one => isAudited(one) && otherTests[one.id] === undefined)

  it.each(audited.map(one => [one.id, auditActionOf(one), one] as const))(
    '%s writes the audit entry %s',
    async (id, action, { routes }) => {
      const before = await readLog()
      const apiVersion = routes.current.length > 0 ? 'current' : 'earlier'
      await perform(id, apiVersion)
      const after = await readLog()
      const known = JSON.stringify(before[0])
      const entries = after.slice(
        0,
        after.findIndex(one => JSON.stringify(one) === known),
      )
      expect(entries.map(one => one.action)).toContain(action)
      expect(JSON.stringify(entries)).not.toMatch(/cot_[0-9a-f]{32}|whsec_|token=[0-9a-f]|sk_(?:live|test)_/)
    },
  )
})
