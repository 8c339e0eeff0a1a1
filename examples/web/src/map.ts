import type { Checkin, Place } from "@rollcall/sdk";
import L from "leaflet";

const vienna: L.LatLngExpression = [48.2082, 16.3738];
const streets = "https://tile.openstreetmap.org/{z}/{x}/{y}.png";

export interface PlacesMap {
  /** The place under the cross. */
  middle(): Place;
  /** Half the height or width of the visible area, whichever is smaller. */
  radiusMeters(): number;
  show(checkins: readonly Checkin[]): void;
  /** Calls back when the map has been moved. */
  onMove(moved: () => void): void;
}

/** A map of streets over the outlines of land, which are available without a network, too. */
export function createMap(container: HTMLElement): PlacesMap {
  const map = L.map(container, {
    zoomControl: false,
    maxBounds: [
      [-89, -400],
      [89, 400],
    ],
  }).setView(vienna, 13);
  L.control.zoom({ position: "bottomright" }).addTo(map);
  void drawLand(map);
  L.tileLayer(streets, { maxZoom: 19, className: "streets", attribution: "© OpenStreetMap contributors" }).addTo(map);
  const markers = L.layerGroup().addTo(map);

  return {
    middle() {
      const { lat, lng } = map.getCenter().wrap();
      return { lat, lng };
    },
    radiusMeters() {
      const bounds = map.getBounds();
      const center = map.getCenter();
      const north = map.distance(center, [bounds.getNorth(), center.lng]);
      const east = map.distance(center, [center.lat, bounds.getEast()]);
      return Math.round(Math.min(north, east));
    },
    show(checkins) {
      markers.clearLayers();
      for (const { location, comment } of checkins) {
        const marker = L.circleMarker(location, { radius: 8, className: "marker" });
        if (comment !== undefined) marker.bindTooltip(textOnly(comment));
        marker.addTo(markers);
      }
    },
    onMove(moved) {
      map.on("moveend", moved);
    },
  };
}

async function drawLand(map: L.Map): Promise<void> {
  const response = await fetch("/land.json");
  L.geoJSON(await response.json(), { interactive: false, style: { className: "land" } })
    .addTo(map)
    .bringToBack();
}

/** Comments of other users are shown as they are, never as HTML. */
function textOnly(text: string): HTMLElement {
  const label = document.createElement("span");
  label.textContent = text;
  return label;
}
