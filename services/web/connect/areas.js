/** What people call the market areas that their address cannot tell apart. */
const areaNames = {
  GB: 'Great Britain, the same everywhere',
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
  DK1: 'Denmark west of the Great Belt',
  DK2: 'Denmark east of the Great Belt',
  NO1: 'Eastern Norway (Oslo)',
  NO2: 'Southern Norway (Kristiansand)',
  NO3: 'Central Norway (Trondheim)',
  NO4: 'Northern Norway (Tromsø)',
  NO5: 'Western Norway (Bergen)',
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

/** Market areas as options of a choice: by the name that people know, with the code that bills and grid operators use. */
export const areaOptions = regions =>
  regions.map(region =>
    areaNames[region] === undefined
      ? { value: region, title: region }
      : { value: region, title: areaNames[region], text: region },
  )
