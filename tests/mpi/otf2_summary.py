"""Prints as JSON what OTF2's own Python module reads from an archive; see trace.py."""

import collections
import json
import sys

import otf2
from otf2 import events


def main():
    with otf2.reader.open(sys.argv[1]) as trace:
        offset = trace.definitions.clock_properties.global_offset
        strings = [str(string) for string in trace.definitions.strings]
        kinds, regions = collections.Counter(), collections.Counter()
        in_flight, open_regions = set(), collections.defaultdict(list)
        errors, collectives = [], []
        last = collections.Counter()
        slices = []
        for location, event in trace.events:
            kinds[type(event).__name__] += 1
            if event.time < last[location]:
                errors.append(f"{location}: time goes back at {event}")
            last[location] = event.time
            place = open_regions[location]
            if isinstance(event, events.Enter):
                regions[event.region.name] += 1
                place.append((event.region, event.time))
            elif isinstance(event, events.Leave):
                region, began = place.pop()
                if region != event.region:
                    errors.append(f"{location}: leaves {event.region.name} inside {region.name}")
                slices.append((location.group.name, region.name, began - offset, event.time - offset))
            elif isinstance(event, events.NonBlockingCollectiveRequest):
                in_flight.add((location, event.request_id))
            elif isinstance(event, (events.NonBlockingCollectiveComplete, events.MpiCollectiveEnd)):
                if isinstance(event, events.NonBlockingCollectiveComplete):
                    if (location, event.request_id) not in in_flight:
                        errors.append(f"{location}: completes {event.request_id} which was not started")
                    in_flight.discard((location, event.request_id))
                collectives.append((location.group.name, place[-1][0].name if place else "", str(event.collective_op),
                                    len(event.communicator.group.members), event.size_sent, event.size_received))
        print(json.dumps({
            "errors": errors + [f"{location}: is left in {place}" for location, place in open_regions.items() if place],
            "kinds": kinds, "regions": regions, "slices": sorted(slices), "collectives": collectives, "in_flight": len(in_flight),
            "resolution": trace.definitions.clock_properties.timer_resolution,
            "same_strings": len(strings) - len(set(strings)),
            "paradigms": sorted({(region.name, str(region.paradigm)) for region in trace.definitions.regions}),
            "locations": sorted((location.group.name, location.name) for location in trace.definitions.locations)}))


if __name__ == "__main__":
    main()
