import sql from 'sql-template-tag'
import { expect, it } from 'vitest'
import { refuseAssignmentCount } from '../../../../services/query-service/plans/decide-assignments.ts'
import { planCharge, refusedWith, usePlans } from '../../../support/plans/plan-fixture.ts'
import { make } from '../../../support/registry/service.ts'

const { service, live, makePlan } = await usePlans()
const { operator } = service.database

it('the versions of a plan have at most 4 MiB of prices', async () => {
  const plan = await makePlan({ tariffs: [], charges: [planCharge(1, { name: 'n' })] })
  const length = async () => {
    const { rows } = await operator<{ length: number }>(sql`
      select sum(length(terms::text))::bigint as length from plan_charges where plan_id = ${plan}`)
    return rows[0]?.length ?? 0
  }
  const post = () =>
    live.call('POST', `/plans/${plan}/versions`, { from: '2026-07-01', charges: [planCharge(1, { name: 'n' })] })
  const remove = () => live.call('DELETE', `/plans/${plan}/versions/${version}`)
  const fillTo = (bytes: number, own: number) =>
    operator(sql`
      update plan_charges set terms = jsonb_set(terms, '{name}', to_jsonb(repeat('n', ${bytes - own + 1})))
      where plan_id = ${plan}`)
  const own = await length()
  let version = 2
  expect((await post()).body).toMatchObject({ version })
  const added = (await length()) - own
  await remove()
  await fillTo(4 * 2 ** 20 - added, own)
  version += 1
  expect(await post()).toMatchObject({ status: 202 })
  expect(await length()).toBe(4 * 2 ** 20)
  await remove()
  await fillTo(4 * 2 ** 20 - added + 1, own)
  const refused = await post()
  expect(refused).toMatchObject(refusedWith(400, 'too_many_versions'))
  expect(refused.body['message']).toBe('The versions of a plan have at most 4 MiB in all. Create another plan.')
})

it('a version has at most 200 charges, and one tariff for each direction and type', async () => {
  const charges = (count: number) => Array.from({ length: count }, (_, index) => planCharge(1, { name: `n${index}` }))
  await make(live, '/plans', { name: 'Full', currency_code: 'EUR', charges: charges(200) })
  const refused = await live.call('POST', '/plans', { name: 'Full', currency_code: 'EUR', charges: charges(201) })
  expect(refused).toMatchObject(refusedWith(400, 'value_out_of_range'))
  expect(refused.body['message']).toContain('at most 200')
})

it('a plan has at most 100,000 assignments', () => {
  expect(refuseAssignmentCount(99_000, 1_000)).toBeNull()
  expect(refuseAssignmentCount(99_001, 1_000)).toMatchObject({
    code: 'too_many_assignments',
    message: 'A plan has at most 100,000 assignments: use another plan for the others',
  })
})
