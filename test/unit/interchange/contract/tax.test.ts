import { describe, expect, it } from 'vitest'
import { formatDecimal } from '../../../../services/domain/quantity.ts'
import { readImportOptions } from '../../../../services/interchange/contract/tariff-import.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { readFile } from '../../../support/interchange/read-tariffs.ts'

const vatOf = (percent: string) => readImportOptions({ vat: percent })

describe('the tax of an import', () => {
  it('has at most 13 decimals in percent', () => {
    expect(vatOf(`5.${'1'.repeat(13)}`).ok).toBe(true)
    expect(vatOf(`5.${'1'.repeat(14)}`)).toMatchObject({ refusal: { code: 'field_invalid' } })
  })

  it('is exact in the tariff and in the charge', () => {
    const options = acceptedValue(vatOf('5.11269632'))
    const file = { label: 'a', energyratestructure: [[{ rate: 0.1 }]], fixedmonthlycharge: 10 }
    const { tariffs, charges } = readFile('urdb', file, { vat: options.vat })
    const [rate] = tariffs[0]?.terms.schedule[0]?.daysAndHours[0]?.hours[0]?.rate ?? []
    expect(formatDecimal(rate?.surchargePercentage ?? 0n, 15)).toBe('0.0511269632')
    expect(charges[0]?.terms).toMatchObject({ price: 10_511_269_632n })
  })

  it('of a file is refused with more decimals', () => {
    const file = (vat: string) =>
      `{"id":"1","currency":"EUR","elements":[{"price_components":[{"type":"ENERGY","price":1,"vat":${vat}}]}]}`
    const read = (vat: string) => readFile('ocpi', file(vat), { currency: 'EUR', vat: 'SOURCE' })
    expect(read('5.1126963212345').tariffs.length).toBe(1)
    expect(() => read('5.11269632123456')).toThrow(/13 decimals/)
  })
})
