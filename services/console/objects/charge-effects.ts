import { type Content, html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { counted } from '../kit/amount.ts'
import { finalStatementsPath, finalsBetween } from '../statements/final-statements.ts'

type DatedCharge = {
  readonly location_id: string
  readonly start_date: string | null
  readonly end_date: string | null
}

const daysOf = ({ start_date: start, end_date: end }: DatedCharge): string =>
  [start === null ? '' : ` from ${start}`, end === null ? '' : ` until the day before ${end}`].join('')

/** Count the final statements with days of a charge. */
const finalCount = async (request: ConsoleRequest, charge: DatedCharge): Promise<Content> => {
  const { location_id: location, start_date, end_date } = charge
  const finals = await finalsBetween(request, location, start_date, end_date)
  if (finals === null) return html`<p>The final statements could not be counted. Load the page again to count them.</p>`
  const { found, isAll } = finals
  if (found.length === 0) return html`<p>No final statement has days of the charge.</p>`
  const count = `${isAll ? '' : 'At least '}${counted(String(found.length), 'final statement')}`
  return html`<p><a href="${finalStatementsPath(location)}">${count}</a> of the location ${found.length === 1 ? 'has' : 'have'} days of the charge. ${found.length === 1 ? 'It stays unchanged' : 'They stay unchanged'}. The next statement adjusts the difference.</p>`
}

/** Say what the deletion of a charge changes. */
export const chargeDeletionEffects = async (request: ConsoleRequest, charge: DatedCharge): Promise<Content> =>
  html`<p>The charge is removed from its start, as if it had never existed. The deletion cannot be undone. No stored cost of a record changes.</p>
<p>Statements that are not final lose the line of the charge${daysOf(charge)}.</p>${await finalCount(request, charge)}
<p>To keep the past, edit the charge instead, and set the day after its last day.</p>`

/** Say what a change of a charge changes. */
export const chargeChangeEffects = async (request: ConsoleRequest, charge: DatedCharge): Promise<Content> =>
  html`<p>To end the charge, set the day after its last day. No stored cost of a record changes. Statements that are not final follow the new name and days.</p>${await finalCount(request, charge)}`
