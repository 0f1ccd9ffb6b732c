import { type MemberTable, plainMembers } from '../known-members.ts'
import { hasMember, type SourceValue } from '../source-value.ts'

const text = plainMembers('language', 'text')
const amount = plainMembers('excl_vat', 'incl_vat', 'before_taxes', 'after_taxes')
const priceLimit = { ...amount, taxes: plainMembers('name', 'account_number', 'percentage', 'amount') }

const tariff: MemberTable = {
  ...plainMembers('country_code', 'party_id', 'id', 'currency', 'type', 'tariff_alt_url', 'tax_included'),
  ...plainMembers('start_date_time', 'end_date_time', 'last_updated'),
  tariff_alt_text: text,
  min_price: priceLimit,
  max_price: priceLimit,
  preauthorize_amount: null,
  elements: {
    price_components: plainMembers('type', 'price', 'vat', 'step_size'),
    restrictions: plainMembers(
      ...['start_time', 'end_time', 'start_date', 'end_date', 'day_of_week', 'reservation'],
      ...['min_kwh', 'max_kwh', 'min_current', 'max_current', 'min_power', 'max_power', 'min_duration', 'max_duration'],
    ),
  },
  energy_mix: {
    ...plainMembers('is_green_energy', 'supplier_name', 'energy_product_name'),
    energy_sources: plainMembers('source', 'percentage'),
    environ_impact: plainMembers('category', 'amount'),
  },
}

const answer: MemberTable = { data: tariff, ...plainMembers('status_code', 'status_message', 'timestamp') }

/** Return the members of a file of OCPI 2.2.1 or 2.3.0: tariffs, or an answer with them. */
export const ocpiMembers = (file: SourceValue): MemberTable => (hasMember(file, 'data') ? answer : tariff)
