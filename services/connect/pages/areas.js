import { text } from './texts.js'

/** Common names of market areas that an address cannot distinguish. */
const areaNames = {
  GB: text('area.GB'),
  'GB-A': 'Eastern England',
  'GB-B': 'East Midlands',
  'GB-C': 'London',
  'GB-D': 'Merseyside and North Wales',
  'GB-E': 'West Midlands',
  'GB-F': 'North East England',
  'GB-G': 'North West England',
  'GB-H': 'Southern England',
  'GB-J': 'South East England',
  'GB-K': 'South Wales',
  'GB-L': 'South West England',
  'GB-M': 'Yorkshire',
  'GB-N': 'Southern Scotland',
  'GB-P': 'Northern Scotland',
  DK1: text('area.DK1'),
  DK2: text('area.DK2'),
  NO1: text('area.NO1'),
  NO2: text('area.NO2'),
  NO3: text('area.NO3'),
  NO4: text('area.NO4'),
  NO5: text('area.NO5'),
  SE1: 'Luleå',
  SE2: 'Sundsvall',
  SE3: 'Stockholm',
  SE4: 'Malmö',
  'IT-NORD': 'Nord',
  'IT-CNOR': 'Centro-Nord',
  'IT-CSUD': 'Centro-Sud',
  'IT-SUD': 'Sud',
  'IT-CALA': 'Calabria',
  'IT-SICI': 'Sicilia',
  'IT-SARD': 'Sardegna',
}

/** Create the options of market areas: common name and official code. */
export const areaOptions = regions =>
  regions.map(region =>
    areaNames[region] === undefined
      ? { value: region, title: region }
      : { value: region, title: areaNames[region], text: region },
  )
