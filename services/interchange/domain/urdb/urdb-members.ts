import { type MemberTable, plainMembers, type UnknownMember } from '../known-members.ts'
import { hasMember, type SourceValue } from '../source-value.ts'

const demandTier = plainMembers('rate', 'adj', 'max', 'unit')

/** Members of a rate. Old and new names of a member are both known. */
const rate: MemberTable = {
  ...plainMembers('label', 'uri', 'approved', 'is_default', 'utility', 'utility_name', 'eiaid', 'name', 'country'),
  ...plainMembers('startdate', 'enddate', 'supersedes', 'supercedes', 'sector', 'servicetype', 'description', 'source'),
  ...plainMembers('sourceparent', 'sourceversion', 'revisions', 'latest_update', 'basicinformationcomments'),
  ...plainMembers('peakkwcapacitymin', 'peakkwcapacitymax', 'peakkwcapacityhistory', 'peakkwhusagemin'),
  ...plainMembers('peakkwhusagemax', 'peakkwhusagehistory', 'voltageminimum', 'voltagemaximum', 'voltagecategory'),
  ...plainMembers('phasewiring', 'demandhistory', 'demandcomments', 'energycomments', 'usenetmetering', 'dgrules'),
  energyratestructure: { ...demandTier, sell: null },
  ...plainMembers('energyweekdayschedule', 'energyweekendschedule', 'fueladjustmentsmonthly'),
  demandratestructure: demandTier,
  ...plainMembers('demandweekdayschedule', 'demandweekendschedule', 'demandwindow', 'demandratchetpercentage'),
  ...plainMembers('lookbackpercent', 'lookbackrange', 'lookbackmonths'),
  ...plainMembers('lookbackPercent', 'lookbackRange', 'lookbackMonths'),
  flatdemandstructure: demandTier,
  ...plainMembers('flatdemandmonths', 'flatdemandunit', 'demandrateunit', 'demandunits', 'demandreactivepowercharge'),
  coincidentratestructure: demandTier,
  coincidentrateschedule: null,
  coincidentrateunit: null,
  ...plainMembers('fixedchargefirstmeter', 'fixedchargeunits', 'fixedchargeeaaddl', 'fixedmonthlycharge'),
  ...plainMembers('mincharge', 'minchargeunits', 'minmonthlycharge', 'annualmincharge'),
  energyattrs: 'ANY',
  demandattrs: 'ANY',
  fixedattrs: 'ANY',
}

/** Return the members of a file: one rate, or `items` with rates. */
export const urdbMembers = (file: SourceValue): MemberTable => (hasMember(file, 'items') ? { items: rate } : rate)

const unitNames = [
  ...['unit', 'flatdemandunit', 'demandrateunit', 'demandunits', 'fixedchargeunits', 'minchargeunits'],
  'coincidentrateunit',
]

/** Return whether an unknown member is probably the unit of a charge. It does not change the price of a kWh. */
export const isUnitOfCharge = ({ path, nearest }: UnknownMember): boolean =>
  nearest !== null && unitNames.includes(nearest) && !path.includes('/energyratestructure/')

/** Numbers that belong to a unit. */
const amounts: Readonly<Record<string, readonly string[]>> = {
  flatdemandunit: ['flatdemandstructure'],
  demandrateunit: ['demandratestructure'],
  demandunits: ['flatdemandstructure', 'demandratestructure'],
  fixedchargeunits: ['fixedchargefirstmeter'],
  minchargeunits: ['mincharge'],
}

/** Return whether an amount can have the unit of an unknown member. A unit of a tier belongs to its structure. */
export const isUnitOf = ({ nearest }: UnknownMember, amount: string): boolean =>
  nearest === 'unit' || (amounts[nearest ?? ''] ?? []).includes(amount)
