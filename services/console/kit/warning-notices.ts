import type { WarningWire } from '../../contract/warning.ts'
import { dayMs } from '../../domain/interval.ts'
import { type Content, html } from '../../web/ui-kit/html.ts'
import { instant } from '../page-parts.ts'

/** Show the place of an overlap, with a link to the records around it. */
const placeOf = ({ location_id, device_id, start_time }: WarningWire, zone: string): Content => {
  if (location_id === undefined || start_time === undefined) return null
  const [from, to] = [-dayMs, dayMs].map(ms => new Date(Date.parse(start_time) + ms).toISOString()) as [string, string]
  const object = typeof device_id === 'string' ? { location_id, device_id } : { location_id }
  const href = `/console/records?${new URLSearchParams({ ...object, start_time: from, end_time: to })}`
  return html` The first such time is ${instant(start_time, zone, 'minute')}. <a href="${href}">View records</a>`
}

/** Show the warnings of an answer, with times in a zone. */
export const warningNotices = (warnings: readonly WarningWire[] | undefined, zone: string): Content =>
  warnings?.map(warning => html`<p class="notice warn">${warning.message}${placeOf(warning, zone)}</p>`)
