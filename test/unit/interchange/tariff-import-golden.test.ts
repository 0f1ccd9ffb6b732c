import { describe, expect, it } from 'vitest'
import { apiVersionDates } from '../../../services/contract/api-version.ts'
import { tariffImportOperation } from '../../../services/interchange/service/import-tariffs.ts'
import { type Answer, type Call, idOf, makeAccount, maskedText, useService } from '../../support/registry/service.ts'

const service = await useService(undefined, dependencies => [tariffImportOperation(dependencies)])

/** Import a rate with an energy price and a fixed charge, whose reactive power is not imported. */
const importAnswers = async (call: Call): Promise<Readonly<Record<string, Answer>>> => {
  const location = idOf(await call('POST', '/locations', { timezone: 'America/Denver', currency_code: 'USD' }))
  const rate = {
    label: 'rate-17',
    name: 'Residential',
    utility: 'Public Service',
    startdate: 1_633_068_000,
    energyratestructure: [[{ rate: 0.11, adj: 0.0051, unit: 'kWh' }]],
    fixedchargefirstmeter: 5.71,
    fixedchargeunits: '$/month',
    demandreactivepowercharge: 0.3,
  }
  const path = `/tariffs/import?format=urdb&location_id=${location}`
  return {
    tariff_import: await call('POST', path, { items: [rate] }),
    tariff_import_dry_run: await call('POST', `${path}&dry_run=true&replace=true`, {
      items: [{ ...rate, label: 'new' }],
    }),
  }
}

describe('the import of tariffs', async () => {
  const { live } = await makeAccount(service)
  const answers = await importAnswers((method, path, body) =>
    live.call(method, path, body, { 'api-version': apiVersionDates.current }),
  )

  it.each(Object.keys(answers))('writes %s as published', async name => {
    await expect(maskedText(answers[name] as Answer)).toMatchFileSnapshot(`../../golden/current/${name}.json`)
  })

  it('exists in the current API version only', async () => {
    const earlier = { 'api-version': apiVersionDates.earlier }
    expect((await live.call('POST', '/tariffs/import?format=urdb', { items: [] }, earlier)).status).toBe(404)
  })
})
